"""Worker pods without a kubelet: their status as a node would report it, and their metrics page on loopback."""

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.place import Place

PORT = 30000  # of the contract; each double has an address of its own instead
MIB = 1 << 20


@dataclass(slots=True)
class Double:
    """One worker pod. What it has counted so far is set by the test."""

    role: str
    address: str
    series: dict[str, float] = field(
        default_factory=lambda: {"pd_expected_replica_factor": 2, "pd_resolved_replica_factor": 2}
    )
    scrapes: int = 0
    scraped_at: float = 0.0  # monotonic seconds

    def count(self, **increments: float) -> None:
        """Counters go up, all at once: no page shows one without the other."""
        self.series = self.series | {name: self.series.get(name, 0) + value for name, value in increments.items()}

    def page(self) -> str:
        """The metrics page."""
        self.scrapes += 1
        self.scraped_at = time.monotonic()
        labels = f'role="{self.role}",tp_rank="0",cp_rank="0"'
        lines = [f"{name}{{{labels}}} {value}" for name, value in self.series.items()]
        lines.append(f'pd_transport_info{{{labels},backend="Mooncake",transport="TCP"}} 1')
        return "\n".join(lines) + "\n"


@contextmanager
def running_double(role: str) -> Iterator[Double]:
    """A worker's HTTP port. Its address is drawn, so that sessions side by side don't meet."""
    double = Double(role, f"127.{random.randint(2, 250)}.{random.randint(1, 250)}.{random.randint(1, 250)}")  # noqa: S311

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = double.page().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((double.address, PORT), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,))
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def report_running(place: Place, pod: str, address: str) -> None:
    """The pod's status as the kubelet of a node would write it: running and ready at this address."""
    containers = place.get("pod", pod)["spec"]["containers"]
    states = [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
        for each in containers
    ]
    conditions = [
        {"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": conditions,
        "containerStatuses": states,
    }
    place.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
