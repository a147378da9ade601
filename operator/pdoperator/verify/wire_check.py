"""Do receivers count what senders say? Sums over pods that were read one after the other, while bytes moved.

Over a run of intervals the differences between the moments of reading cancel, all but those at its two edges. So the
sums are compared, over at least three intervals with traffic in which every worker was read:

- where nothing moved at either edge the sums are exact, and the tolerance alone decides;
- else as many transfers are needed that those in flight at the edges (20 are assumed) stay below the tolerance, and
  the time between the first and the last pod's reading is allowed for.

Agreement needs the same exactness but not the three intervals. Runs with failed transfers or corrupt pages aren't
judged: their bytes arrive without being reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pdoperator.verify.evidence import Evidence, Increment, Interval
from pdoperator.verify.ratio import quotient

_PERSISTENT: Final = 3
_IN_FLIGHT: Final = 20


@dataclass(frozen=True, slots=True)
class WireAgrees:
    """Receivers count the expected number of copies."""


@dataclass(frozen=True, slots=True)
class WireDiffers:
    """They don't, persistently."""

    ratio: Fraction


@dataclass(frozen=True, slots=True)
class WireUnjudged:
    """Not enough to say."""


def wire(evidence: Evidence, *, factor: int, tolerance: Fraction) -> WireAgrees | WireDiffers | WireUnjudged:
    """Receivers' bytes over senders' logical bytes, against the factor."""
    run = _run(evidence.intervals)
    increments = [each for interval in run for each in interval.increments]
    if not run or any(each.failed or each.corrupt_pages for each in increments):
        return WireUnjudged()
    ratio = _ratio(increments)
    if ratio is None or ratio == 0:  # one side's series are missing: MetricsAvailable tells
        return WireUnjudged()
    allowed = _allowed(run, increments, tolerance, quiet=evidence.quiet)
    if allowed is None:
        return WireUnjudged()
    if abs(ratio - factor) <= allowed * factor:
        return WireAgrees()
    if len(run) >= _PERSISTENT and _one_sided(run[-_PERSISTENT:], factor=factor, allowed=allowed):
        return WireDiffers(ratio)
    return WireUnjudged()


def _run(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """The newest intervals without a break in which some worker wasn't read, came, went or restarted."""
    start = len(intervals)
    while start > 0 and intervals[start - 1].aligned:
        start -= 1
    return tuple(intervals[start:])


def _allowed(
    run: Sequence[Interval], increments: Sequence[Increment], tolerance: Fraction, *, quiet: bool
) -> Fraction | None:
    if quiet and run[0].after_quiet:
        return tolerance
    transfers = sum(each.transfers for each in increments)
    seconds = sum(each.seconds for each in run)
    if transfers * tolerance < _IN_FLIGHT or seconds <= 0:
        return None
    skew = Fraction(run[0].skew_seconds + run[-1].skew_seconds) / Fraction(seconds)
    return tolerance + skew


def _one_sided(run: Sequence[Interval], *, factor: int, allowed: Fraction) -> bool:
    """Whether each interval is off, all in the same direction."""
    ratios = [_ratio(interval.increments) for interval in run]
    off = [ratio - factor for ratio in ratios if ratio is not None and abs(ratio - factor) > allowed * factor]
    return len(off) == len(run) and (min(off) > 0 or max(off) < 0)


def _ratio(increments: Sequence[Increment]) -> Fraction | None:
    return quotient(sum(each.wire_bytes for each in increments), sum(each.logical_bytes for each in increments))
