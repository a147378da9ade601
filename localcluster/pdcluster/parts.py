"""The cluster's processes: how each is started, and how each is known to be well."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pdcluster import controlplane, node, processes
from pdcluster.health import Api, answers, wait_until
from pdcluster.settings import Settings

# The API server takes 3 s on two idle cores; beside a Go build it has taken 30.
START_TIMEOUT_S = 90.0
# A part that runs but does not answer is given this long before it is started anew.
ANSWER_TIMEOUT_S = 15.0
LOG_TAIL_CHARACTERS = 2_000


class PartError(RuntimeError):
    """A part that does not start; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the cluster."""

    name: str
    command: Callable[[], list[str]]
    healthy: Callable[[], bool]


def parts(settings: Settings) -> list[Part]:
    """Return every part in the order of starting: none needs a later one to become well."""
    plane, address = settings.plane, settings.node_address
    admin = plane.kubeconfig("admin")

    def answering(port: int, *, secure: bool) -> Callable[[], bool]:
        return lambda: answers(address, port, "/healthz", secure=secure)

    return [
        Part("containerd", lambda: node.containerd_command(settings), lambda: containerd_answers(settings)),
        # etcd listens on the cluster's loopback only, out of reach from here: the API server's readiness covers it.
        Part("etcd", lambda: controlplane.etcd_command(plane), lambda: True),
        Part(
            "kube-apiserver",
            lambda: controlplane.apiserver_command(plane),
            lambda: Api.from_kubeconfig(admin).ready(),
        ),
        Part(
            "kube-controller-manager",
            lambda: controlplane.controller_manager_command(plane),
            answering(plane.controllers_port, secure=True),
        ),
        Part(
            "kube-scheduler",
            lambda: controlplane.scheduler_command(plane),
            answering(plane.scheduler_port, secure=True),
        ),
        Part("kubelet", lambda: node.kubelet_command(settings), answering(10248, secure=False)),
        Part("kube-proxy", lambda: node.proxy_command(settings), answering(10256, secure=False)),
    ]


def containerd_answers(settings: Settings) -> bool:
    """Tell whether containerd's socket takes connections."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(settings.containerd_socket))
        except OSError:
            return False
    return True


def troubled(settings: Settings) -> list[str]:
    """Return the names of parts that are not well right now."""
    return [p.name for p in parts(settings) if processes.running(settings, p.name) is None or not p.healthy()]


def ensure(settings: Settings, part: Part) -> bool:
    """Leave a well part alone, start any other; return whether something was started."""
    runs = processes.running(settings, part.name) is not None
    if runs and wait_until(part.healthy, seconds=ANSWER_TIMEOUT_S):
        return False
    processes.stop(settings, part.name)
    processes.start(settings, part.name, part.command())
    return True


def await_healthy(settings: Settings, part: Part) -> None:
    """Wait for a part that was started."""

    def alive() -> bool:
        return processes.running(settings, part.name) is not None

    if not wait_until(part.healthy, seconds=START_TIMEOUT_S, alive=alive) or not alive():
        log = settings.logs / f"{part.name}.log"
        raise PartError(f"{part.name} does not start; the end of {log}:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-LOG_TAIL_CHARACTERS:] if log.exists() else "(no log)"
