"""The metrics of one rank (docs/reference/worker-contract.md), and the merging of all ranks' pages into the pod's."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from pdworker.reasons import Reason
from pdworker.transfer.accounting import TransferMetric

# The engines' own buckets: a rule written for them works here.
TOTAL_MB = (1, 5, 10, 50, 100, 500, 1000, 5000, 10000)
SPEED_GB_S = (0.1, 0.5, 1, 5, 10, 25, 50, 100, 200, 400)
LATENCY_MS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
LABELS = ("role", "tp_rank", "cp_rank")

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """What one rank counts. Every series carries its role and ranks; none carries a room, a request or an address."""

    def __init__(self, *, role: str, tp_rank: int, cp_rank: int) -> None:
        self._registry = CollectorRegistry()
        self._labels = (role, str(tp_rank), str(cp_rank))
        self._failures = Counter(
            "pd_kv_transfer_failures", "Failed requests by reason", (*LABELS, "reason"), registry=self._registry
        )
        for reason in Reason:
            self._failures.labels(*self._labels, reason)
        if role == "prefill":
            self._add_sender()
        else:
            self._wire = self._counter("pd_kv_wire_bytes", "Bytes that arrived and passed their checksum")
            self._corrupt = self._counter("pd_kv_pages_corrupt", "Pages whose checksum was wrong")

    def _add_sender(self) -> None:
        self._total_mb = self._histogram("kv_transfer_total_mb", "MiB per request, as engines report them", TOTAL_MB)
        self._speed = self._histogram("kv_transfer_speed_gb_s", "GiB/s per request, as engines report it", SPEED_GB_S)
        self._latency = self._histogram("kv_transfer_latency_ms", "First submit to last completion", LATENCY_MS)
        self._transfers = self._counter("pd_kv_transfers", "Requests whose transfer completed")
        self._logical = self._counter("pd_kv_logical_bytes", "One copy of what this sender sent")
        self._reported = self._counter("pd_kv_reported_bytes", "What the engine's metric counts, in bytes")
        self._busy = self._counter("pd_kv_transfer_busy_seconds", "Seconds with a transfer in flight")

    def transferred(self, metric: TransferMetric) -> None:
        """One request was sent."""
        self._total_mb.observe(metric.total_mib)
        if metric.seconds > 0:  # engines don't observe a speed without a duration either
            self._speed.observe(metric.speed_gib_s)
        self._latency.observe(metric.seconds * 1000)
        self._transfers.inc()
        self._logical.inc(metric.logical_bytes)
        self._reported.inc(metric.reported_bytes)
        self._busy.inc(metric.seconds)

    def received(self, wire_bytes: int) -> None:
        """Bytes arrived and are what was sent."""
        self._wire.inc(wire_bytes)

    def corrupt(self, pages: int) -> None:
        """Pages arrived that are not what was sent."""
        self._corrupt.inc(pages)

    def failed(self, reason: Reason) -> None:
        """One request failed."""
        self._failures.labels(*self._labels, reason).inc()

    def expects(self, factor: int) -> None:
        """The factor that the operator computed; never called when it told none, so that absent isn't zero."""
        self._gauge("pd_expected_replica_factor", "The replica factor the operator expects").set(factor)

    def resolves(self, factor: int) -> None:
        """The factor learnt at the barrier; the series doesn't exist before."""
        if not hasattr(self, "_resolved"):
            self._resolved = self._gauge("pd_resolved_replica_factor", "The replica factor learnt at the barrier")
        self._resolved.set(factor)

    def uses(self, *, backend: str, transport: str) -> None:
        """The transport in use by evidence."""
        gauge = Gauge(
            "pd_transport_info", "Backend and transport in use", (*LABELS, "backend", "transport"),
            registry=self._registry,
        )  # fmt: skip
        gauge.labels(*self._labels, backend, transport).set(1)

    def page(self) -> str:
        """The rank's page, in Prometheus' text format."""
        return generate_latest(self._registry).decode()

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, LABELS, registry=self._registry).labels(*self._labels)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, LABELS, registry=self._registry).labels(*self._labels)

    def _histogram(self, name: str, text: str, buckets: Iterable[float]) -> Histogram:
        return Histogram(name, text, LABELS, registry=self._registry, buckets=tuple(buckets)).labels(*self._labels)


def merge(pages: Iterable[str]) -> str:
    """One page of several ranks' pages: each family's HELP and TYPE once, then every rank's samples."""
    headers: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for page in pages:
        family = ""
        for line in page.splitlines():
            if line.startswith("# HELP "):
                family = line.split(" ", 3)[2]
                headers.setdefault(family, [line])
                samples.setdefault(family, [])
            elif line.startswith("# TYPE "):
                if len(headers[family]) == 1:
                    headers[family].append(line)
            elif line and not line.startswith("#"):
                samples[family].append(line)
    return "".join(f"{line}\n" for family in headers for line in (*headers[family], *samples[family]))
