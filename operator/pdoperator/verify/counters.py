"""One page -> the counts of that pod, summed over its ranks. The names are the contract's with the workers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pdoperator.verify.samples import Page, Series

TRANSFERS: Final = "pd_kv_transfers_total"
FAILURES: Final = "pd_kv_transfer_failures_total"
LOGICAL: Final = "pd_kv_logical_bytes_total"
REPORTED: Final = "pd_kv_reported_bytes_total"
WIRE: Final = "pd_kv_wire_bytes_total"
CORRUPT: Final = "pd_kv_pages_corrupt_total"
BUSY: Final = "pd_kv_transfer_busy_seconds_total"
EXPECTED: Final = "pd_expected_replica_factor"
RESOLVED: Final = "pd_resolved_replica_factor"
TRANSPORT: Final = "pd_transport_info"
ENGINE_TOTAL_MIB: Final = "kv_transfer_total_mb"
STARTED: Final = "process_start_time_seconds"

_COUNTS = frozenset({TRANSFERS, FAILURES, LOGICAL, REPORTED, WIRE, CORRUPT, BUSY})
_KNOWN = _COUNTS | {EXPECTED, RESOLVED, TRANSPORT}
_MIB = 1 << 20
_MOST = float(1 << 62)  # four exabytes: beyond it a counter is a lie, and sums leave the range of honest integers
_MOST_REASONS = 16  # the contract's set of failure reasons is closed and smaller
_MOST_TEXT = 40  # a reason goes into a message that people read


@dataclass(frozen=True, slots=True)
class Counters:
    """What one pod counted since it started. A counter not on the page is zero; a gauge not on it is unknown."""

    transfers: int = 0
    failures: tuple[tuple[str, int], ...] = ()  # by reason, sorted
    logical_bytes: int = 0
    reported_bytes: int = 0
    wire_bytes: int = 0
    corrupt_pages: int = 0
    busy_micros: int = 0
    expected_factor: int | None = None
    resolved: bool = False  # some rank has resolved its factor
    transports: frozenset[tuple[str, str]] = frozenset()  # (backend, transport) in use
    started_at: float | None = None
    recognised: bool = False  # at least one series of the contract is there
    gauge_only: bool = False  # the engine's metric is a gauge, as before it became a histogram

    def monotone(self) -> tuple[int, ...]:
        """What can only grow within one life of the pod's processes."""
        return (
            self.transfers,
            sum(count for _, count in self.failures),
            self.logical_bytes,
            self.reported_bytes,
            self.wire_bytes,
            self.corrupt_pages,
            self.busy_micros,
        )


@dataclass(frozen=True, slots=True)
class Implausible:
    """A page that parses but can't be true."""

    detail: str


def read(page: Page) -> Counters | Implausible:
    """The counts on this page, or why they can't be believed."""
    for series in page.series:
        if _base(series.name) in _COUNTS and not 0 <= series.value <= _MOST:  # also refuses NaN
            return Implausible(f"{series.name} is {series.value}")
    names = frozenset(_base(each.name) for each in page.series)
    return Counters(
        transfers=_total(page.series, TRANSFERS),
        failures=_by_reason(page.series),
        logical_bytes=_total(page.series, LOGICAL),
        reported_bytes=_reported(page.series, names),
        wire_bytes=_total(page.series, WIRE),
        corrupt_pages=_total(page.series, CORRUPT),
        busy_micros=_total(page.series, BUSY, scale=1_000_000),
        expected_factor=_expected(page.series),
        resolved=RESOLVED in names,
        transports=frozenset(
            (dict(each.labels).get("backend", "")[:_MOST_TEXT], dict(each.labels).get("transport", "")[:_MOST_TEXT])
            for each in page.series
            if each.name == TRANSPORT and each.value == 1
        ),
        started_at=next((each.value for each in page.series if each.name == STARTED), None),
        recognised=bool(names & _KNOWN) or f"{ENGINE_TOTAL_MIB}_sum" in names,
        gauge_only=ENGINE_TOTAL_MIB in names and f"{ENGINE_TOTAL_MIB}_sum" not in names,
    )


def _base(name: str) -> str:
    """The name without an engine's prefix (`sglang:`)."""
    return name.rpartition(":")[2]


def _total(series: Iterable[Series], name: str, *, scale: int = 1) -> int:
    return round(sum(each.value for each in series if _base(each.name) == name) * scale)


def _reported(series: tuple[Series, ...], names: frozenset[str]) -> int:
    """The engine's own figure, from the counter in bytes or else from its histogram in MiB."""
    if REPORTED in names:
        return _total(series, REPORTED)
    total = sum(each.value for each in series if _base(each.name) == f"{ENGINE_TOTAL_MIB}_sum")
    return round(total * _MIB) if 0 <= total <= _MOST / _MIB else 0


def _by_reason(series: Iterable[Series]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for each in sorted(series, key=lambda one: one.labels):
        if each.name != FAILURES:
            continue
        reason = dict(each.labels).get("reason", "")[:_MOST_TEXT]
        key = reason if reason in counts or len(counts) < _MOST_REASONS else "other"
        counts[key] = counts.get(key, 0) + round(each.value)
    return tuple(sorted(counts.items()))


def _expected(series: Iterable[Series]) -> int | None:
    values = {each.value for each in series if each.name == EXPECTED}
    if len(values) != 1:
        return None  # absent, or ranks that disagree: then the page says nothing
    value = values.pop()
    return int(value) if 1 <= value <= _MOST and value == int(value) else None
