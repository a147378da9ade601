"""The chart, rendered by helm and judged by a real API server, where it installs, upgrades and uninstalls."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
import yaml

from pdoperator import __main__ as program
from pdoperator.controller.settings import RunSettings
from pdoperator.plan.plan import PlanSettings
from tests.support.apiserver import Apiserver, binaries_directory, running_apiserver
from tests.support.pddeployments import small

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "pd-operator"
CRD = ROOT / "crds" / "pdoperator.io_pddeployments.yaml"
CRD_NAME = "pddeployments.pdoperator.io"
IMAGES = "image.repository=registry.example/pd-operator,workerImage.repository=registry.example/pd-worker"
HELM_SECONDS = 120
STOP_SECONDS = 20  # the operator promises to end within 10
CHILDREN = "serviceaccounts,networkpolicies,services,poddisruptionbudgets,statefulsets,deployments"

OWNED = {"create", "delete", "get", "list", "patch", "watch"}
WATCH_RIGHTS = {
    "pdoperator.io/pddeployments": {"get", "list", "watch"},
    "pdoperator.io/pddeployments/status": {"get", "patch"},
    "pdoperator.io/pddeployments/finalizers": {"update"},
    "apps/deployments": OWNED,
    "apps/statefulsets": OWNED,
    "/services": OWNED,
    "/serviceaccounts": OWNED,
    "networking.k8s.io/networkpolicies": OWNED,
    "policy/poddisruptionbudgets": OWNED,
    "/pods": {"get", "list", "watch"},
    "events.k8s.io/events": {"create"},
}
LEASE_RIGHTS = {
    "coordination.k8s.io/leases": {"create"},
    "coordination.k8s.io/leases:pd-operator": {"get", "update"},
}

EVERYTHING_ON = """
replicas: 2
imagePullSecrets: [{name: registry}]
image: {digest: "sha256:%s"}
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy.example:3128"}]
serviceAccount: {name: operator, annotations: {example.com/role: operator}}
metrics: {service: {annotations: {prometheus.io/scrape: "true"}}}
networkPolicy:
  enabled: true
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
podAnnotations: {example.com/note: "1"}
podLabels: {team: serving}
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {team: serving}}}
""" % ("0" * 64)


def helm(*args: str, kubeconfig: Path | None = None, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm; its failure is for the caller to judge."""
    # Without a kubeconfig of the test's own, helm must not find the user's.
    env = {**os.environ, "KUBECONFIG": str(kubeconfig or os.devnull)}
    command = [str(binaries_directory() / "helm"), *args]
    return subprocess.run(
        command, env=env, input=stdin, text=True, capture_output=True, timeout=HELM_SECONDS, check=False
    )


def template(*args: str, values: str = "", namespace: str = "pd-system") -> subprocess.CompletedProcess[str]:
    """Render the chart as release pd-operator, with more values as YAML text."""
    flags = ("--namespace", namespace, "--kube-version", "1.34.4", "--values", "-")
    return helm("template", "pd-operator", str(CHART), *flags, *args, stdin=values)


def rendered(*args: str, values: str = "", namespace: str = "pd-system") -> list[dict[str, Any]]:
    """Every object the chart renders."""
    done = template("--set", IMAGES, *args, values=values, namespace=namespace)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def one(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the only object of that kind."""
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


def operator_env(*args: str) -> dict[str, str]:
    """The operator's environment where it is a plain value."""
    (container,) = one(rendered(*args), "Deployment")["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"] if "value" in each}


@pytest.fixture(scope="module")
def server() -> Iterator[Apiserver]:
    # Its own: a helm release owns the CRD, and other tests' servers have it applied by other hands.
    with running_apiserver() as server:
        for namespace in ("pd-system", "team-a", "team-b"):
            server.kubectl("create", "namespace", namespace)
        yield server


def install(server: Apiserver, *args: str, namespace: str, chart: Path = CHART) -> None:
    """Install or upgrade release pd-operator in a namespace, and don't wait for pods: there is no node."""
    flags = ("--install", "--namespace", namespace, "--set", IMAGES)
    done = helm("upgrade", "pd-operator", str(chart), *flags, *args, kubeconfig=server.kubeconfig)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(server: Apiserver) -> Apiserver:
    """The server with two releases: pd-system's watches everything, team-a's only team-a."""
    install(server, namespace="pd-system")
    install(server, "--set", "watchNamespaces={team-a},crds.install=false", namespace="team-a")
    return server


def rights(server: Apiserver, *, account: str, namespace: str) -> dict[str, set[str]]:
    """What a service account may do in a namespace, "GROUP/RESOURCE[:NAME]" to verbs, by the server's own answer."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    flags = (f"--as=system:serviceaccount:{account}", "--validate=false", "-o", "json")
    answer = json.loads(server.kubectl("create", "-f", "-", *flags, stdin=json.dumps(review)).stdout)
    found: dict[str, set[str]] = {}
    for rule in answer["status"]["resourceRules"]:
        for group in set(rule["apiGroups"]) - {"authorization.k8s.io", "authentication.k8s.io"}:  # everybody's
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [""]):
                    key = f"{group}/{resource}" + (f":{name}" if name else "")
                    found.setdefault(key, set()).update(rule["verbs"])
    return found


def test_lint_is_clean_when_strict() -> None:
    done = helm("lint", "--strict", str(CHART), "--set", IMAGES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_chart_carries_the_generated_crd_with_its_release_labels_and_kept_at_uninstall() -> None:
    generated = yaml.safe_load(CRD.read_text())
    crd = one(rendered(), "CustomResourceDefinition")
    assert crd["spec"] == generated["spec"]
    assert crd["metadata"]["name"] == CRD_NAME
    assert crd["metadata"]["annotations"] == {
        "helm.sh/resource-policy": "keep",
        **generated["metadata"].get("annotations", {}),
    }
    assert crd["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"


def test_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    package = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{chart["appVersion"]}"' in package
    assert chart["version"] == chart["appVersion"]


@pytest.mark.parametrize(
    ("args", "values"),
    [
        pytest.param((), "", id="as it comes"),
        pytest.param(("--set", "watchNamespaces={team-a,team-b}"), "", id="two namespaces"),
        pytest.param((), EVERYTHING_ON, id="everything on"),
        pytest.param(("--set", "resources=null,metrics.service.enabled=false"), "", id="as little as it can be"),
    ],
)
def test_api_server_accepts_every_object_strictly(server: Apiserver, args: tuple[str, ...], values: str) -> None:
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": rendered(*args, values=values)})
    applied = server.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=manifests)
    assert applied.stderr == ""  # no warning either


def test_namespaced_release_without_the_crd_has_no_cluster_wide_object() -> None:
    objects = rendered("--set", "watchNamespaces={team-a},crds.install=false", namespace="team-a")
    places = {each["kind"]: each["metadata"].get("namespace") for each in objects}
    assert places == dict.fromkeys(("Deployment", "Role", "RoleBinding", "Service", "ServiceAccount"), "team-a")


@pytest.mark.parametrize(
    ("account", "namespace", "expected"),
    [
        pytest.param("pd-system:pd-operator", "team-b", WATCH_RIGHTS, id="cluster-wide, in any namespace"),
        pytest.param("pd-system:pd-operator", "pd-system", WATCH_RIGHTS | LEASE_RIGHTS, id="cluster-wide, at home"),
        pytest.param("team-a:pd-operator", "team-a", WATCH_RIGHTS | LEASE_RIGHTS, id="namespaced, in its namespace"),
        pytest.param("team-a:pd-operator", "team-b", {}, id="namespaced, nothing elsewhere"),
    ],
)
def test_operator_has_these_rights_and_no_other(
    installed: Apiserver, account: str, namespace: str, expected: dict[str, set[str]]
) -> None:
    assert rights(installed, account=account, namespace=namespace) == expected


@contextlib.contextmanager
def operator_as(server: Apiserver, account: str, *, args: tuple[str, ...], directory: Path) -> Iterator[str]:
    """Run the operator with the rights of a service account and the environment of the chart; yields its base URL."""
    namespace, _, name = account.partition(":")
    config = json.loads(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": server.token(name, namespace=namespace)}
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = os.environ | operator_env(*args) | {"POD_NAMESPACE": namespace}
    env |= {"KUBECONFIG": str(kubeconfig), "PD_HTTP_PORT": port}
    process = subprocess.Popen([sys.executable, "-m", "pdoperator", "run"], env=env, stdin=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=STOP_SECONDS)


@pytest.mark.parametrize(
    ("account", "args", "namespace"),
    [
        pytest.param("pd-system:pd-operator", (), "team-b", id="cluster-wide"),
        pytest.param("team-a:pd-operator", ("--set", "watchNamespaces={team-a}"), "team-a", id="one namespace"),
    ],
)
def test_operator_does_its_work_with_the_rights_of_the_chart(
    installed: Apiserver, account: str, args: tuple[str, ...], namespace: str, tmp_path: Path
) -> None:
    manifest = json.dumps(small("rights"))
    with operator_as(installed, account, args=args, directory=tmp_path) as url:
        installed.kubectl("apply", "-n", namespace, "-f", "-", stdin=manifest)
        condition = ("--for=condition=TopologyValid", "pdd/rights", "-n", namespace, "--timeout=45s")
        installed.kubectl("wait", *condition)
        with urllib.request.urlopen(f"{url}/metrics", timeout=5) as answer:  # noqa: S310 -- an address of ours
            page = answer.read().decode()
    children = installed.kubectl(
        "get", CHILDREN, "-n", namespace, "-l", "pdoperator.io/deployment=rights", "-o", "name"
    )
    assert len(children.stdout.split()) == 11
    assert 'result="ok"' in page
    assert 'result="403"' not in page


def test_install_page_lists_the_rights_of_a_watched_namespace() -> None:
    section = (
        (ROOT / "docs" / "install.md").read_text().partition("## What the operator may do")[2].partition("\n## ")[0]
    )
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    listed = {
        resource: set(verbs.strip().split(", "))
        for _, names, verbs, *_ in rows
        for resource in re.findall(r"`([a-z/]+)`", names)
    }
    assert listed == {key.partition("/")[2]: verbs for key, verbs in WATCH_RIGHTS.items()}


def test_operator_pod_meets_the_restricted_pod_security_standard(installed: Apiserver) -> None:
    template = one(rendered(), "Deployment")["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "namespace": "pd-system"},
        "spec": template["spec"],
    }
    installed.kubectl("label", "namespace", "pd-system", "pod-security.kubernetes.io/enforce=restricted")
    applied = installed.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    assert applied.stdout == "pod/probe created (server dry run)\n"


def test_upgrade_brings_a_changed_crd_and_uninstall_keeps_it_for_the_next_install(
    installed: Apiserver, tmp_path: Path
) -> None:
    newer = tmp_path / "pd-operator"
    shutil.copytree(CHART, newer)
    crd = newer / "files" / "crd.yaml"
    crd.write_text(crd.read_text().replace("\n    shortNames:\n", "\n    shortNames:\n    - newname\n"))
    install(installed, namespace="pd-system", chart=newer)
    assert "newname" in installed.get("crd", CRD_NAME)["spec"]["names"]["shortNames"]

    gone = helm("uninstall", "pd-operator", "--namespace", "pd-system", kubeconfig=installed.kubeconfig)
    assert gone.returncode == 0, gone.stderr
    assert installed.kubectl("get", "deployments", "-n", "pd-system", "-o", "name").stdout == ""
    assert installed.get("crd", CRD_NAME)["metadata"]["name"] == CRD_NAME

    install(installed, namespace="pd-system")
    assert "newname" not in installed.get("crd", CRD_NAME)["spec"]["names"]["shortNames"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        pytest.param("replica=1", "additional properties 'replica' not allowed", id="misspelt name"),
        pytest.param("replicas=4", "at '/replicas': maximum: got 4, want 3", id="more replicas than are of use"),
        pytest.param("replicas=one", "at '/replicas': got string, want integer", id="a word for a number"),
        pytest.param("watchNamespaces={Team}", "at '/watchNamespaces/0'", id="not a namespace's name"),
        pytest.param("watchNamespaces=team", "at '/watchNamespaces': got string, want array", id="a bare namespace"),
        pytest.param("image.repository=r/pd:1", "at '/image/repository'", id="a tag in the repository"),
        pytest.param("operator.logLevel=loud", "at '/operator/logLevel'", id="unknown log level"),
        pytest.param("operator.concurrency=0", "at '/operator/concurrency'", id="nobody to do the work"),
        pytest.param("extraEnv[0].name=PD_HTTP_PORT", "at '/extraEnv/0/name'", id="a contract variable"),
    ],
)
def test_bad_value_is_refused_with_its_place(setting: str, message: str) -> None:
    done = template("--set", f"{IMAGES},{setting}")
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.parametrize("key", ["image", "workerImage"])
def test_missing_image_says_how_to_get_one(key: str) -> None:
    other = {"image": "workerImage", "workerImage": "image"}[key]
    done = template("--set", f"{other}.repository=registry.example/x")
    assert f"{key}.repository is not set: build the image with `docker build --target" in done.stderr


def test_values_reach_the_operators_settings() -> None:
    values = "operator.resyncSeconds=30,operator.concurrency=8,workerImage.tag=v2,watchNamespaces={team-a,team-b}"
    environment = operator_env("--set", values)
    arguments = program._parser(environment).parse_args(["run"])
    assert program._settings(
        arguments, {"POD_NAME": "pd-operator-0", "POD_NAMESPACE": "pd-operator-0s-namespace"}
    ) == RunSettings(
        plan=PlanSettings(worker_image="registry.example/pd-worker:v2", operator_namespace="pd-operator-0s-namespace"),
        namespaces=("team-a", "team-b"),
        lease_namespace="default",  # in the cluster by the downward API
        lease_name="pd-operator",
        identity=ANY,
        http_port=8080,
        resync_seconds=30,
        concurrency=8,
    )


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
@pytest.mark.parametrize("style", ["plain", "json"])
def test_operator_takes_every_way_of_logging_that_the_chart_allows(level: str, style: str) -> None:
    environment = operator_env("--set", f"operator.logLevel={level},operator.logFormat={style}")
    arguments = program._parser(environment).parse_args(["run"])
    assert (arguments.log_level, arguments.log_format) == (level.upper(), style)


def test_chart_sets_no_variable_that_the_operator_does_not_read() -> None:
    known = {f"PD_{name.upper()}" for name in vars(program._parser({}).parse_args(["run", "--worker-image=x"]))}
    assert set(operator_env()) - known == set()


def test_digest_wins_over_the_tag() -> None:
    digest = "sha256:" + "a" * 64
    values = f"workerImage: {{tag: '1', digest: '{digest}'}}"
    (container,) = one(rendered(values=values), "Deployment")["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert environment["PD_WORKER_IMAGE"] == f"registry.example/pd-worker@{digest}"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param((), "watches all namespaces", id="the whole cluster"),
        pytest.param(("--set", "watchNamespaces={team-a}"), "kubectl -n team-a apply -f", id="one namespace"),
    ],
)
def test_notes_name_the_next_command(server: Apiserver, args: tuple[str, ...], said: str) -> None:
    flags = ("--dry-run=server", "--namespace", "team-b", "--set", f"{IMAGES},crds.install=false")
    done = helm("install", "pd-operator", str(CHART), *flags, *args, kubeconfig=server.kubeconfig)
    assert said in done.stdout
    assert "kubectl -n team-b rollout status deployment/pd-operator" in done.stdout
