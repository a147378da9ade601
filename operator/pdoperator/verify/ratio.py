"""Copies observed against copies expected. Exact arithmetic: a verdict must not depend on rounding."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Matches:
    """Within tolerance of the expected number of copies."""


@dataclass(frozen=True, slots=True)
class NotApplied:
    """One copy was counted where several travel."""


@dataclass(frozen=True, slots=True)
class AppliedTwice:
    """The square of the factor: it was multiplied in twice."""


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A ratio that no known error explains."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing to compare, and why."""

    why: str


Comparison = Matches | NotApplied | AppliedTwice | Unexplained | Unknown


def compare(observed: Fraction | None, expected: int | None, tolerance: Fraction) -> Comparison:
    """Name the relation between the two. The tolerance is relative to what is compared with."""
    if expected is None:
        return Unknown("no expected factor")
    if observed is None:
        return Unknown("no logical bytes were counted")
    if _near(observed, expected, tolerance):
        return Matches()
    # With an expected factor of 1 the next two can't be told from a match, which was ruled out above.
    if _near(observed, 1, tolerance):
        return NotApplied()
    if _near(observed, expected * expected, tolerance):
        return AppliedTwice()
    return Unexplained()


def quotient(numerator: int, denominator: int) -> Fraction | None:
    """The ratio of two byte counts; None where nothing was counted below the line (absent isn't zero)."""
    return Fraction(numerator, denominator) if denominator > 0 else None


def _near(observed: Fraction, value: int, tolerance: Fraction) -> bool:
    return abs(observed - value) <= tolerance * value
