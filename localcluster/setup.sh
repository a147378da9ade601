#!/usr/bin/env bash
# Sets up whatever is missing on this machine: Debian's packages, the virtual environment, and the programs of the
# local cluster (built from pinned Go modules). Each step keeps a stamp of its inputs and is skipped while it fits.
#
# PD_KUBECONFIG=FILE   a cluster is given: nothing for the local one is installed or built.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pd-operator
bin=$cache/bin
venv=$root/.venv
kubernetes=v1.34.4
helm=v3.19.0
coredns=v1.12.4
PATH=$PATH:/usr/local/go/bin:/usr/sbin:/sbin
export GOTOOLCHAIN=local CGO_ENABLED=0

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
digest() { sha256sum | cut -c1-16; }
has_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }

# fits STAMP DIGEST: the step that left STAMP had the same inputs.
fits() { [[ -f $1 && $(<"$1") == "$2" ]]; }

# patiently WHAT COMMAND...: a line now and then, so that nobody takes a long step for a hang.
patiently() {
  local what=$1 start=$SECONDS; shift
  say "$what ..."
  "$@" </dev/null & local pid=$! said=$SECONDS status=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    ((SECONDS - said < 30)) || { said=$SECONDS; say "$what ... $((SECONDS - start)) s"; }
  done
  wait "$pid" || status=$?
  [[ $status == 0 ]] || fail "$what: failed ($status)"
  say "$what: done in $((SECONDS - start)) s"
}

packages() {
  echo python3-venv libibverbs1 libnuma1 libcurl4 iperf3
  has_gpu || echo python3-torch   # 235 MB, where PyPI's build for GPUs is several GB
  [[ -n ${PD_KUBECONFIG:-} ]] ||
    echo containerd runc containernetworking-plugins nftables iptables conntrack iproute2 buildah mmdebstrap busybox-static
}

apt_packages() {
  local wanted missing
  mapfile -t wanted < <(packages | tr ' ' '\n')
  command -v dpkg-query >/dev/null || { say "not a Debian: these must be there by other means: ${wanted[*]}"; return; }
  missing=$(comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
    <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/ installed$//p' | sort))
  [[ -n $missing ]] || return 0
  # shellcheck disable=SC2086  # one word per package
  set -- $missing
  [[ $(id -u) == 0 ]] || fail "missing Debian packages, and only root can install them: apt-get install $*"
  patiently "apt-get update" apt-get -qq update
  patiently "apt-get install $*" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
}

python_environment() {
  local extras=operator,worker-cpu python=/usr/bin/python3 inputs
  ! has_gpu || extras=operator,worker
  [[ -x $python ]] || fail "$python is missing (3.11 or later is needed)"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11"
  inputs=$(cat "$root"/{pyproject.toml,constraints.txt,localcluster/setup.sh} - <<<"$root $extras $("$python" -V)" | digest)
  ! fits "$venv/.setup" "$inputs" || return 0
  [[ -x $venv/bin/python ]] || "$python" -m venv --system-site-packages "$venv"
  # The environment is the project's own: what the machine has in other versions is installed into it.
  patiently "pip" "$venv/bin/python" -m pip install --quiet --constraint "$root/constraints.txt" pip
  patiently "pip install .[$extras] and the development tools" "$venv/bin/python" -m pip install --quiet \
    --constraint "$root/constraints.txt" --editable "$root[$extras]" --group "$root/pyproject.toml:dev"
  # The development packages are not part of the distribution; a path file makes them importable.
  printf '%s\n' "$root/localcluster" "$root/bench" "$root/demo" > \
    "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/_pd_development.pth"
  echo "$inputs" > "$venv/.setup"
}

# go_program NAME DIGEST-INPUT WHAT COMMAND...: build into the cache unless it was built from the same inputs.
go_program() {
  local name=$1 inputs what=$3
  inputs=$(echo "$2 $go_version" | digest); shift 3
  ! { [[ -x $bin/$name ]] && fits "$bin/.$name" "$inputs"; } || return 0
  patiently "$what" "$@"
  echo "$inputs" > "$bin/.$name"
}

build_in() { (cd "$1" && go build -trimpath -ldflags "$2" -o "$bin/$3.new" . && mv "$bin/$3.new" "$bin/$3"); }
install_from() { GOBIN=$bin go install -trimpath -ldflags "-s -w" "$1"; }

go_programs() {
  if ! command -v go >/dev/null; then
    [[ -z ${PD_KUBECONFIG:-} ]] || { say "no Go: kubectl and helm must be on the PATH"; return 0; }
    fail "Go is missing (1.25 or later; Debian 12's own is too old): it builds the local cluster. Or give a cluster: PD_KUBECONFIG=FILE"
  fi
  go_version=$(go env GOVERSION)
  local minor=${go_version#go1.}; minor=${minor%%[!0-9]*}
  ((minor >= 25)) || fail "$(command -v go) is $go_version; Kubernetes $kubernetes needs Go 1.25 or later"
  mkdir -p "$bin"
  exec 9>"$cache/setup.lock"; flock 9   # two checkouts share the cache
  local kube=$root/localcluster/kube pause=$root/localcluster/pause version=k8s.io/component-base/version
  local flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34 -X $version.gitTreeState=clean"
  go_program kube "$(cat "$kube"/{go.mod,go.sum,main.go}) $flags" \
    "Kubernetes $kubernetes (about 7 minutes from nothing)" build_in "$kube" "$flags" kube
  go_program pause "$(cat "$pause"/*)" "the pause program" build_in "$pause" "-s -w" pause
  go_program helm "$helm" "helm $helm (about 2 minutes from nothing)" install_from helm.sh/helm/v3/cmd/helm@$helm
  go_program coredns "$coredns" "CoreDNS $coredns (about 2 minutes from nothing)" install_from github.com/coredns/coredns@$coredns
  local name
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
    [[ -e $bin/$name ]] || ln -sfn kube "$bin/$name"
  done
}

apt_packages
python_environment
go_programs
