"""The operator as its own process against some API server, as in a cluster: started, watched, stopped, or killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

START_SECONDS = 60.0  # imports take 2 s on two idle cores
STOP_SECONDS = 10.0  # what the operator promises
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Operator:
    """A running operator."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def page(self, path: str = "/metrics") -> str:
        """What the operator's port answers, whatever the status; empty while it doesn't answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                text: bytes = answer.read()
        except urllib.error.HTTPError as error:
            text = error.read()
        except OSError:
            return ""
        return text.decode()

    def metric(self, series: str, /, **labels: str) -> float:
        """The sum of the samples of that series that have all these labels; 0 when there is none."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        lines = [line for line in self.page().splitlines() if line.partition("{")[0].partition(" ")[0] == series]
        return sum(float(line.rpartition(" ")[2]) for line in lines if all(each in line for each in wanted))

    def writes(self) -> float:
        """Every write so far but those of the Lease."""
        return self.metric("pd_operator_api_writes_total") - self.metric(
            "pd_operator_api_writes_total", resource="leases"
        )

    def stop(self) -> int:
        """Ask it to stop, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=STOP_SECONDS)

    def kill(self) -> None:
        """End it as a node that dies does."""
        self.process.kill()
        self.process.wait(timeout=STOP_SECONDS)

    def wait_active(self) -> None:
        """Until it holds the lease and has listed everything once."""
        eventually(lambda: self.metric("pd_operator_lease_held") == 1.0, what="the lease", story=self.story)
        eventually(
            lambda: self.metric("pd_operator_watch_events_total") >= 0 and self.page("/readyz") == "ok\n", what="ready"
        )

    def story(self) -> str:
        """The end of its log, for the message of a failed test."""
        return self.log.read_text(encoding="utf-8")[-3000:]


@contextlib.contextmanager
def running_operator(kubeconfig: Path, log: Path, *, namespace: str | None = None, **env: str) -> Iterator[Operator]:
    """Run the operator for one namespace (its Lease is there too), or for all of them."""
    port = _free_port()
    settings = {
        "KUBECONFIG": str(kubeconfig),
        "PD_WORKER_IMAGE": "registry.invalid/pd-worker:test",
        "PD_HTTP_PORT": str(port),
        "PD_WATCH_NAMESPACES": namespace or "",
        "PD_LEASE_NAMESPACE": namespace or "default",
        **env,
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            # The kernel ends it with us, also when the test runner gets no chance to.
            ["setpriv", "--pdeathsig=KILL", sys.executable, "-m", "pdoperator", "run"],
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    operator = Operator(process, port, log)
    try:
        eventually(lambda: operator.page("/healthz"), what="the operator's port", story=operator.story)
        yield operator
    finally:
        if process.poll() is None:
            operator.kill()


def eventually(
    check: Callable[[], T], *, what: str, seconds: float = START_SECONDS, story: Callable[[], str] = str
) -> T:
    """What `check` returns once that is true. Fails with the last answer and the story."""
    end = time.monotonic() + seconds
    while True:
        if found := check():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds:g} s, last {found!r}\n{story()}")
        time.sleep(0.1)  # the one pause: what is waited for is another process's work


def throughout(check: Callable[[], T], *, seconds: float) -> T:
    """The answer of `check`, which must stay the same all the time."""
    first, end = check(), time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        assert check() == first
    return first


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port
