"""The operator's own metrics, in a registry of their own. docs/reference/operator-metrics.md describes each."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

# A reconcile is a few reads of milliseconds each; one with a slow API server takes seconds.
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Everything that is counted. Labels are closed sets, so the number of series is bounded."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reconciles = self._counter("reconciles", "Reconciles by result: ok, gone, or a kind of failure", "result")
        self.reconcile_seconds = Histogram(
            "pd_operator_reconcile_seconds", "How long a reconcile took", buckets=_SECONDS, registry=self.registry
        )
        request = ("verb", "resource", "result")
        self.reads = self._counter(
            "api_reads", "Reads from the API server; result: ok, an HTTP status, timeout, error", *request
        )
        self.writes = self._counter("api_writes", "Writes to the API server; result as for the reads", *request)
        self.scrapes = self._counter(
            "scrapes", "Scrapes of worker pods by result: page, or why there was none", "result"
        )
        self.events = self._counter("watch_events", "Watch events received, by kind", "kind")
        self.loop_lag = self._gauge("event_loop_lag_seconds", "How late the last one-second timer fired")

    def count_request(self, *, verb: str, resource: str, result: str) -> None:
        """One request to the API server."""
        counter = self.reads if verb in {"get", "list"} else self.writes
        counter.labels(verb, resource, result).inc()

    def follow(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A gauge that is read when it is scraped."""
        self._gauge(name, text).set_function(read)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"pd_operator_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"pd_operator_{name}", text, registry=self.registry)
