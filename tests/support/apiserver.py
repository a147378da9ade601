"""A throw-away Kubernetes API server on loopback: real etcd, real kube-apiserver, RBAC on, gone afterwards.

    with running_apiserver() as server:
        server.kubectl("apply", "-f", "crds/")

The programs come from `make setup`. With `controllers=True` a controller manager runs too: garbage collection,
namespaces, workload controllers (their pods stay Pending, as there is no node).
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from pdcluster import controlplane
from pdcluster.controlplane import ControlPlane
from pdcluster.health import Api, wait_until

# Ready takes about 5 s on two idle cores; CI may be building something beside it.
READY_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 10.0
KUBECTL_TIMEOUT_S = 60.0


class ApiserverError(RuntimeError):
    """The API server could not be started; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Apiserver:
    """A running API server and how to reach it."""

    kubeconfig: Path
    url: str
    api: Api
    binaries: Path

    def kubectl(self, *args: str, stdin: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run kubectl as administrator; with check, a failure raises with kubectl's own words."""
        command = [str(self.binaries / "kubectl"), f"--kubeconfig={self.kubeconfig}", *args]
        result = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=KUBECTL_TIMEOUT_S, check=False
        )
        if check and result.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(args)}: {result.stderr.strip() or result.stdout.strip()}")
        return result

    def get(self, *args: str) -> dict[str, Any]:
        """Return `kubectl get ARGS -o json` as an object."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *args, "-o", "json").stdout)
        return found

    def apply(self, *manifests: dict[str, Any]) -> None:
        """Apply manifests given as objects."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(items))

    def token(self, service_account: str, *, namespace: str = "default") -> str:
        """Return a token of a service account, to act with its rights."""
        return self.kubectl("create", "token", service_account, "-n", namespace).stdout.strip()


@contextlib.contextmanager
def running_apiserver(*, controllers: bool = False) -> Iterator[Apiserver]:
    """Start etcd and an API server, yield it, and stop both whatever happens."""
    binaries = binaries_directory()
    with tempfile.TemporaryDirectory(prefix="pd-apiserver-") as directory, contextlib.ExitStack() as stack:
        plane = _plane(Path(directory))
        controlplane.write_certificates(plane)
        etcd = _start(stack, plane, binaries, controlplane.etcd_command(plane))
        command = [c for c in controlplane.apiserver_command(plane) if not c.startswith("--advertise-address")]
        # The kubernetes.default endpoint may not be loopback; nothing here ever dials this address.
        command += ["--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none"]
        apiserver = _start(stack, plane, binaries, command)
        api = Api.from_kubeconfig(plane.kubeconfig("admin"))
        if not wait_until(api.ready, seconds=READY_TIMEOUT_S, alive=lambda: _all_run(etcd, apiserver)):
            raise ApiserverError(f"no API server at {plane.url}:\n{_log_ends(plane.directory)}")
        if controllers:  # after the API server is ready: it exits when its rights are not there yet
            _start(stack, plane, binaries, controlplane.controller_manager_command(plane, nodes=False))
        if not wait_until(lambda: api.read("/api/v1/namespaces/default") is not None, seconds=READY_TIMEOUT_S):
            raise ApiserverError(f"{plane.url} has no namespace default:\n{_log_ends(plane.directory)}")
        yield Apiserver(plane.kubeconfig("admin"), plane.url, api, binaries)


def binaries_directory() -> Path:
    """Return the folder of Kubernetes programs, or say how to get them."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = cache / "pd-operator" / "bin"
    for name in ("etcd", "kube-apiserver", "kubectl"):
        if not (directory / name).exists():
            raise ApiserverError(f"{directory / name} is missing: run `make setup`")
    return directory


def _plane(directory: Path) -> ControlPlane:
    ports = _free_ports(4)
    return ControlPlane(
        name="test",
        directory=directory,
        address="127.0.0.1",
        service_subnet=IPv4Network("10.99.0.0/24"),
        pod_subnet=IPv4Network("10.98.0.0/24"),
        apiserver_port=ports[0],
        etcd_port=ports[1],
        etcd_peer_port=ports[2],
        controllers_port=ports[3],
    )


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _start(
    stack: contextlib.ExitStack, plane: ControlPlane, binaries: Path, command: list[str]
) -> subprocess.Popen[bytes]:
    log = stack.enter_context((plane.directory / f"{command[0]}.log").open("wb"))
    process = subprocess.Popen(
        # The kernel ends them with us, even where we get no chance to (kill -9 of the test runner).
        ["setpriv", "--pdeathsig=KILL", str(binaries / command[0]), *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    stack.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    # Nothing is worth a graceful end here: the data goes too, and a graceful API server takes its time.
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.wait(timeout=STOP_TIMEOUT_S)


def _all_run(*processes: subprocess.Popen[bytes]) -> bool:
    return all(process.poll() is None for process in processes)


def _log_ends(directory: Path) -> str:
    return "\n".join(f"--- {log.name}\n{log.read_text()[-2000:]}" for log in sorted(directory.glob("*.log")))
