"""Bring the local cluster up, take it down, and tell how it is."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from pdcluster import cgroups, containerd, controlplane, manifests, namespaces, node, parts, pki, processes
from pdcluster.health import Api, wait_until
from pdcluster.locks import locked
from pdcluster.settings import Settings

# From a running API server to a node that takes pods: 5 s on two idle cores.
NODE_TIMEOUT_S = 90.0
KUBECTL_TIMEOUT_S = 60.0


class ClusterError(RuntimeError):
    """The cluster is not what was asked for."""


def up(settings: Settings) -> str:
    """Make the cluster run and return in words what was done."""
    _require_programs(settings)
    with locked(settings.cache, settings.name):
        if not _is_whole(settings):
            _clear(settings)
            _create(settings)
        started = _start_parts(settings)
        if not _is_furnished(settings):
            _furnish(settings)
        if not wait_until(lambda: not _unready(settings), seconds=NODE_TIMEOUT_S):
            raise ClusterError(f"the cluster is not ready: {', '.join(_unready(settings))}; logs in {settings.logs}")
    return f"started {', '.join(started)}" if started else "running already"


def down(settings: Settings) -> None:
    """End every process and remove every trace, whatever state the cluster is in."""
    with locked(settings.cache, settings.name):
        _clear(settings)
    shutil.rmtree(settings.client, ignore_errors=True)


def troubles(settings: Settings) -> list[str]:
    """Return what is wrong with the cluster, in words; nothing when it is well."""
    if not _is_whole(settings):
        return ["the cluster is down"]
    return [f"{name} is not well" for name in parts.troubled(settings)] or _unready(settings)


def remains(settings: Settings) -> list[str]:
    """Return every trace of the cluster on this machine: nothing after `down`."""
    folders = [str(path) for path in (settings.state, settings.run) if path.exists()]
    ours = (f"{settings.run}/", f"{settings.state}/")
    mounts = [m for m in namespaces.mount_points() if m.startswith(ours)]
    link = Path("/sys/class/net", namespaces.host_link(settings))
    pids = [f"process {pid}" for pid in sorted(processes.leftovers(settings))]
    groups = [str(path) for path in cgroups.remains(settings.cgroup)]
    return [*folders, *mounts, *([str(link)] if link.exists() else []), *pids, *groups]


def kubectl(settings: Settings, *args: str, stdin: str = "") -> str:
    """Run kubectl as administrator."""
    result = subprocess.run(
        [str(settings.binaries / "kubectl"), f"--kubeconfig={settings.kubeconfig}", *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=KUBECTL_TIMEOUT_S,
        check=False,
        env=processes.environment(settings),
    )
    if result.returncode != 0:
        raise ClusterError(f"kubectl {' '.join(args)}: {result.stderr.strip()}")
    return result.stdout


def _require_programs(settings: Settings) -> None:
    names = ("kube", "coredns", "pause", "kubectl")
    if missing := [str(settings.binaries / n) for n in names if not (settings.binaries / n).exists()]:
        raise ClusterError(f"missing: {', '.join(missing)}: run `make setup`")
    needed = ("containerd", "runc", "nft", "ip", "nsenter", "unshare", "ctr")
    if absent := [n for n in needed if not shutil.which(n, path=processes.environment(settings)["PATH"])]:
        raise ClusterError(f"not on this machine: {', '.join(absent)}: run `make setup`")


def _marker(settings: Settings) -> Path:
    return settings.state / "created"


def _recipe(settings: Settings) -> str:
    """Return a digest of what a running cluster can't take a change of: its programs and configuration."""
    stamp = settings.binaries / ".kube"  # what the set-up built the programs from
    programs = stamp.read_text() if stamp.exists() else str((settings.binaries / "kube").stat().st_mtime_ns)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    rendered = {str(path): content for path, content in node.files(settings).items()}
    commands = [part.command() for part in parts.parts(settings)]
    inputs = json.dumps([boot, programs, rendered, commands], sort_keys=True)
    return hashlib.sha256(inputs.encode()).hexdigest()


def _is_whole(settings: Settings) -> bool:
    """Tell whether the cluster was created to the end, by this recipe, and its namespaces are still there."""
    marker = _marker(settings)
    whole = marker.exists() and marker.read_text() == _recipe(settings)
    return whole and namespaces.exist(settings) and settings.kubeconfig.exists()


def _clear(settings: Settings) -> None:
    _marker(settings).unlink(missing_ok=True)
    processes.end_all(settings)
    namespaces.remove(settings)
    cgroups.remove(settings.cgroup)
    for folder in (settings.state, settings.run):
        if folder.exists():
            shutil.rmtree(folder)


def _create(settings: Settings) -> None:
    for folder in (settings.state, settings.run, settings.client):
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    namespaces.create(settings)
    cgroups.create(settings.cgroup)
    for path, content in node.files(settings).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    controlplane.write_certificates(settings.plane, node=settings.name)
    pki.write_private(settings.kubeconfig, settings.plane.kubeconfig("admin").read_bytes())
    _marker(settings).write_text(_recipe(settings))


def _start_parts(settings: Settings) -> list[str]:
    """Start what does not run, in two steps: the rest exits when the API server is not ready to give it its rights."""
    every = parts.parts(settings)
    first = [p for p in every if p.name in {"containerd", "etcd", "kube-apiserver"}]
    second = [p for p in every if p not in first]
    started: list[str] = []
    for group in (first, second):
        fresh = [part for part in group if parts.ensure(settings, part)]
        for part in fresh:
            parts.await_healthy(settings, part)
        if group is first:
            containerd.ensure_base_images(settings)
        started += [part.name for part in fresh]
    return started


def _is_furnished(settings: Settings) -> bool:
    api = Api.from_kubeconfig(settings.plane.kubeconfig("admin"))
    return api.read("/apis/apps/v1/namespaces/kube-system/deployments/coredns") is not None


def _furnish(settings: Settings) -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": manifests.build(settings.dns_address)}
    kubectl(settings, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(items))


def _unready(settings: Settings) -> list[str]:
    api = Api.from_kubeconfig(settings.plane.kubeconfig("admin"))
    node_object = api.read(f"/api/v1/nodes/{settings.name}") or {}
    deployment = api.read("/apis/apps/v1/namespaces/kube-system/deployments/coredns") or {}
    account = api.read("/api/v1/namespaces/default/serviceaccounts/default")
    conditions = node_object.get("status", {}).get("conditions", [])
    missing = []
    if not any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
        missing.append(f"node {settings.name} is not Ready")
    if not deployment.get("status", {}).get("availableReplicas"):
        missing.append("cluster DNS is not available")
    if account is None:
        missing.append("namespace default has no service account yet")
    return missing
