"""What a number of copies says, next to the expected one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdoperator.verify.ratio import (
    AppliedTwice,
    Comparison,
    Matches,
    NotApplied,
    Unexplained,
    Unknown,
    compare,
    quotient,
)

TOLERANCE = Fraction("0.05")


@pytest.mark.parametrize(
    ("observed", "expected", "verdict"),
    [
        pytest.param("4", 4, Matches(), id="as expected"),
        pytest.param("4.2", 4, Matches(), id="at the tolerance above"),
        pytest.param("3.8", 4, Matches(), id="at the tolerance below"),
        pytest.param("4.21", 4, Unexplained(), id="just beyond it"),
        pytest.param("1", 4, NotApplied(), id="one copy counted where four travel"),
        pytest.param("1", 8, NotApplied(), id="one copy counted where eight travel"),
        pytest.param("16", 4, AppliedTwice(), id="the square"),
        pytest.param("3.73", 4, Unexplained(), id="a mean over a warm-up"),
        pytest.param("2", 4, Unexplained(), id="half"),
        pytest.param("0.25", 4, Unexplained(), id="the inverse"),
        pytest.param("1", 1, Matches(), id="factor one can't be left out"),
        pytest.param("2", 1, Unexplained(), id="factor one can't be applied twice"),
        pytest.param("4", 2, AppliedTwice(), id="two squared"),
    ],
)
def test_a_ratio_is_named(observed: str, expected: int, verdict: Comparison) -> None:
    assert verdict == compare(Fraction(observed), expected, TOLERANCE)


@pytest.mark.parametrize("expected", [1, 2, 4, 8])
def test_side_state_sent_by_every_rank_is_unexplained_and_no_factor(expected: int) -> None:
    # 13696 bytes arrive per token and layer where 6304 were expected: 2.17 times as many.
    assert compare(Fraction(13696, 6304) * expected, expected, TOLERANCE) == Unexplained()


def test_without_an_expected_factor_nothing_is_compared() -> None:
    assert Unknown("no expected factor") == compare(Fraction(4), None, TOLERANCE)


def test_without_logical_bytes_nothing_is_compared() -> None:
    assert Unknown("no logical bytes were counted") == compare(quotient(100, 0), 4, TOLERANCE)


@given(st.integers(1, 1024), st.integers(0, 10**15), st.integers(1, 10**15))
def test_a_match_is_within_tolerance_and_nothing_else_is(expected: int, reported: int, logical: int) -> None:
    ratio = Fraction(reported, logical)
    matches = isinstance(compare(ratio, expected, TOLERANCE), Matches)
    assert matches == (Fraction("0.95") * expected <= ratio <= Fraction("1.05") * expected)
