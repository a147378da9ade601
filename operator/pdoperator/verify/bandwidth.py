"""How fast KV moves while it moves."""

from fractions import Fraction
from typing import Final

from pdoperator.verify.evidence import Evidence

# A figure in the status moves when it is off by a fifth: what is written down is for people, metrics are for graphs.
HYSTERESIS: Final = Fraction(1, 5)
_MICROS = 1_000_000


def bytes_per_busy_second(evidence: Evidence) -> int | None:
    """Receivers' bytes over senders' busy seconds, in the window; None while nothing comparable was counted.

    Each sender counts its own busy seconds, so this is the average sender's rate. It never says anything about idle
    time, and it takes the wire's bytes: a metric that counts one copy can't make the link look slow here.
    """
    increments = [each for interval in evidence.intervals if interval.aligned for each in interval.increments]
    wire = sum(each.wire_bytes for each in increments)
    busy = sum(each.busy_micros for each in increments)
    return wire * _MICROS // busy if wire > 0 and busy > 0 else None


def close_rates(old: int | None, new: int | None) -> bool:
    """Whether the old figure may stay in the new one's place. No new figure is no reason to drop the old one."""
    if old is None:
        return False
    return new is None or abs(new - old) < HYSTERESIS * old
