"""The operator as a process of its own against a throw-away API server, and what its metrics page says."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.operator_page import api_writes

STOP_SECONDS = 15  # the operator promises a clean end within ten
PAGE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class OperatorProcess:
    """A running operator."""

    pid: int
    port: int

    def api_writes(self) -> dict[str, float]:
        """Its API writes so far by verb and kind, its Lease apart."""
        return api_writes(self._page())

    def peak_memory_mib(self) -> float:
        """The most resident memory it had so far."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

    def _page(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PAGE_SECONDS)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()


@contextlib.contextmanager
def running_operator(kubeconfig: Path, *, log: Path) -> Iterator[OperatorProcess]:
    """Start an operator that watches the whole cluster, and end it whatever happens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "PD_HTTP_PORT": str(port),
        "PD_WORKER_IMAGE": "localhost/pd-worker:bench",
        "PD_LEASE_NAMESPACE": "default",
    }
    with log.open("wb") as out:
        command = [sys.executable, "-m", "pdoperator", "run"]
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            yield OperatorProcess(pid=process.pid, port=port)
        finally:
            process.terminate()
            try:
                process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=STOP_SECONDS)
