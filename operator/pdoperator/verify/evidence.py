"""What was seen of one deployment's workers so far: increments between pages, never running totals.

A running total mixes what was counted before anything was known with what is counted now. So the first page of
an incarnation is only a baseline, and a counter that decreases throws the interval away.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from pdoperator.topology.role import Role
from pdoperator.verify.counters import Counters, Implausible, read
from pdoperator.verify.samples import Gap, GapReason, Page, PodRef, Reading

# Active intervals kept: two minutes of traffic at the default interval. Enough for figures not to jump, short enough
# that a cured fault leaves the window while somebody watches.
WINDOW: Final = 8


@dataclass(frozen=True, slots=True)
class PodState:
    """The last that is known of one incarnation of a pod."""

    role: Role
    counters: Counters | None = None  # None until a page was read
    at_seconds: float = 0.0
    gap: Gap | None = None  # why the newest reading isn't a page
    gaps_in_a_row: int = 0
    blanks_in_a_row: int = 0  # pages that were read and have no series of the contract


@dataclass(frozen=True, slots=True)
class Increment:
    """What one pod counted between two of its pages."""

    pod: PodRef
    role: Role
    transfers: int
    failures: tuple[tuple[str, int], ...]  # by reason, those that grew
    logical_bytes: int
    reported_bytes: int
    wire_bytes: int
    corrupt_pages: int
    busy_micros: int
    expected_factor: int | None  # what the pod itself was told
    resolving: bool  # its factor became known in between: earlier requests may have been counted without

    @property
    def failed(self) -> int:
        """Requests that failed, whatever the reason."""
        return sum(count for _, count in self.failures)

    @property
    def active(self) -> bool:
        """Whether anything was counted at all."""
        moved = self.transfers + self.logical_bytes + self.reported_bytes + self.wire_bytes
        return moved + self.corrupt_pages + self.busy_micros + self.failed > 0


@dataclass(frozen=True, slots=True)
class Interval:
    """One observation with traffic."""

    increments: tuple[Increment, ...]
    aligned: bool  # every worker was read at both ends and none came, went or restarted: sums over pods compare
    after_quiet: bool  # nothing was being counted at its start
    seconds: float
    skew_seconds: float  # pods are read one after the other: how far apart, both ends together


@dataclass(frozen=True, slots=True)
class Evidence:
    """The memory of one deployment."""

    pods: Mapping[PodRef, PodState] = field(default_factory=lambda: MappingProxyType({}))
    intervals: tuple[Interval, ...] = ()  # those with traffic, newest last
    complete: bool = False  # the newest observation has a page of every worker
    quiet: bool = False  # ... and nothing was counted since the one before, or ever: sums may begin or end here

    @classmethod
    def empty(cls) -> "Evidence":
        """Nothing seen yet."""
        return cls()

    def without_intervals(self) -> "Evidence":
        """The baselines alone: what was counted under another spec proves nothing about this one."""
        return replace(self, intervals=())

    def of(self, pod: PodRef) -> tuple[Increment, ...]:
        """What this pod counted in the window, newest first."""
        return tuple(each for interval in reversed(self.intervals) for each in interval.increments if each.pod == pod)


@dataclass(frozen=True, slots=True)
class _Step:
    standing: PodState
    increment: Increment | None = None
    broken: bool = False  # a baseline, a reset or a gap: this pod has no increment for this interval


def absorb(evidence: Evidence, readings: Iterable[Reading]) -> Evidence:
    """The evidence after one observation of all the workers there are. The order of the readings is of no matter."""
    newest = _newest(readings)
    steps = {pod: _step(evidence.pods.get(pod), reading) for pod, reading in newest.items()}
    increments = tuple(each.increment for each in steps.values() if each.increment is not None)
    complete = bool(steps) and all(each.standing.gaps_in_a_row == 0 for each in steps.values())
    gone = any(known.counters is not None for pod, known in evidence.pods.items() if pod not in steps)
    aligned = complete and evidence.complete and not gone and not any(each.broken for each in steps.values())
    active = tuple(each for each in increments if each.active)
    intervals = evidence.intervals
    if active:
        starts = [evidence.pods[each.pod].at_seconds for each in increments]
        ends = [steps[each.pod].standing.at_seconds for each in increments]
        interval = Interval(
            increments=active,
            aligned=aligned,
            after_quiet=evidence.quiet,
            seconds=max(ends) - min(starts),
            skew_seconds=max(starts) - min(starts) + max(ends) - min(ends),
        )
        intervals = (*intervals, interval)[-WINDOW:]
    return Evidence(
        pods=MappingProxyType({pod: each.standing for pod, each in steps.items()}),
        intervals=intervals,
        complete=complete,
        quiet=(aligned and not active) or (complete and not any(_counted(each.standing) for each in steps.values())),
    )


def _counted(standing: PodState) -> bool:
    return standing.counters is not None and any(standing.counters.monotone())


def _newest(readings: Iterable[Reading]) -> dict[PodRef, Reading]:
    """One reading a pod, in one order whatever order they came in."""
    ordered = sorted(readings, key=lambda each: (each.pod.name, each.pod.uid, each.pod.restarts, each.at_seconds))
    return {each.pod: each for each in ordered}


def _step(known: PodState | None, reading: Reading) -> _Step:
    if isinstance(reading, Gap):
        return _missed(known, reading)
    counters = read(reading)
    if isinstance(counters, Implausible):
        gap = Gap(reading.pod, reading.role, reading.at_seconds, GapReason.MALFORMED, counters.detail)
        return _missed(known, gap)
    blanks = 0 if counters.recognised else 1 + (0 if known is None else known.blanks_in_a_row)
    standing = PodState(role=reading.role, counters=counters, at_seconds=reading.at_seconds, blanks_in_a_row=blanks)
    if known is None or known.counters is None:
        return _Step(standing, broken=True)
    if reading.at_seconds <= known.at_seconds:  # the same page again, or an older one that came late
        return _Step(known)
    if _restarted(known.counters, counters):
        return _Step(standing, broken=True)
    return _Step(standing, _increment(reading, known.counters, counters))


def _missed(known: PodState | None, gap: Gap) -> _Step:
    known = known or PodState(role=gap.role)
    return _Step(replace(known, gap=gap, gaps_in_a_row=known.gaps_in_a_row + 1), broken=True)


def _restarted(before: Counters, after: Counters) -> bool:
    """A page can be newer than the restart count that the API server knows: then only the counters tell."""
    if before.started_at is not None and after.started_at is not None and after.started_at > before.started_at:
        return True
    if any(new < old for old, new in zip(before.monotone(), after.monotone(), strict=True)):
        return True
    now = dict(after.failures)
    return any(now.get(reason, 0) < count for reason, count in before.failures)


def _increment(page: Page, before: Counters, after: Counters) -> Increment:
    earlier = dict(before.failures)
    grown = ((reason, count - earlier.get(reason, 0)) for reason, count in after.failures)
    return Increment(
        pod=page.pod,
        role=page.role,
        transfers=after.transfers - before.transfers,
        failures=tuple((reason, count) for reason, count in grown if count > 0),
        logical_bytes=after.logical_bytes - before.logical_bytes,
        reported_bytes=after.reported_bytes - before.reported_bytes,
        wire_bytes=after.wire_bytes - before.wire_bytes,
        corrupt_pages=after.corrupt_pages - before.corrupt_pages,
        busy_micros=after.busy_micros - before.busy_micros,
        expected_factor=after.expected_factor,
        resolving=after.resolved and not before.resolved,
    )
