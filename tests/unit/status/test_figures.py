"""Figures as people read them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdoperator.status.figures import factor_text, rate_of, rate_text, steady_rate_text
from pdoperator.verify.wording import names, same_but_figures, significant


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        pytest.param(2_426_704_457, "2.4 GB/s", id="gigabytes are decimal"),
        pytest.param(46_053_457_920, "46 GB/s", id="the engine's 42.89 GB/s are 46 decimal ones"),
        pytest.param(999_000_000, "1 GB/s", id="rounded up into the next unit"),
        pytest.param(1_000_000_000, "1 GB/s", id="no trailing zero"),
        pytest.param(1_500, "1.5 kB/s", id="kilobytes"),
        pytest.param(12, "12 B/s", id="bytes"),
        pytest.param(0, "0 B/s", id="nothing"),
        pytest.param(3_210_000_000_000, "3.2 TB/s", id="terabytes"),
    ],
)
def test_rate_text(rate: int, text: str) -> None:
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("stored", "measured", "text"),
    [
        pytest.param("", None, "", id="never measured"),
        pytest.param("", 2_400_000_000, "2.4 GB/s", id="measured for the first time"),
        pytest.param("2.4 GB/s", None, "2.4 GB/s", id="idle keeps the last figure"),
        pytest.param("2.4 GB/s", 2_870_000_000, "2.4 GB/s", id="off by less than a fifth"),
        pytest.param("2.4 GB/s", 2_880_000_000, "2.9 GB/s", id="off by a fifth"),
        pytest.param("2.4 GB/s", 1_920_000_000, "1.9 GB/s", id="slower by a fifth"),
        pytest.param("fast", 2_400_000_000, "2.4 GB/s", id="a text that isn't ours"),
    ],
)
def test_a_figure_stands_while_it_is_nearly_right(stored: str, measured: int | None, text: str) -> None:
    assert steady_rate_text(stored, measured) == text


@given(st.integers(0, 10**14))
def test_a_rate_is_within_a_twentieth_of_its_text(rate: int) -> None:
    read = rate_of(rate_text(rate))
    assert read is not None
    assert abs(read - rate) * 20 <= rate


@pytest.mark.parametrize(
    ("expected", "observed", "text"),
    [
        pytest.param(4, "", "4", id="expected only"),
        pytest.param(4, "4", "4", id="verified"),
        pytest.param(4, "1", "1/4", id="another observed"),
        pytest.param(4, "2.2", "2.2/4", id="no whole number"),
        pytest.param(None, "", "", id="unknown"),
        pytest.param(None, "4", "", id="observed, but nothing to hold it against"),
    ],
)
def test_factor_text(expected: int | None, observed: str, text: str) -> None:
    assert factor_text(expected=expected, observed=observed) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(Fraction(13696, 6304), "2.2", id="2.1726"),
        pytest.param(Fraction(1098), "1100", id="1098"),
        pytest.param(Fraction("1098.4"), "1100", id="1098.4 is the same"),
        pytest.param(Fraction("0.0123"), "0.012", id="small"),
        pytest.param(Fraction("9.99"), "10", id="carries"),
        pytest.param(Fraction(0), "0", id="zero"),
        pytest.param(Fraction("0.1"), "0.1", id="a tenth"),
    ],
)
def test_two_significant_digits(value: Fraction, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("of", "text"),
    [
        pytest.param(["b", "a", "b"], "a, b", id="each once, in order"),
        pytest.param(["a", "b", "c", "d", "e"], "a, b, c, d, e", id="five"),
        pytest.param(["a", "b", "c", "d", "e", "f"], "a, b, c, d, e and 1 more", id="six"),
    ],
)
def test_names(of: list[str], text: str) -> None:
    assert names(of) == text


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        pytest.param("observed 2.2, expected 4", "observed 2.3, expected 4", True, id="a figure moved a little"),
        pytest.param("observed 2.2, expected 4", "observed 2.9, expected 4", False, id="it moved a lot"),
        pytest.param("on v2-prefill-10", "on v2-prefill-11", False, id="a pod's number is no figure"),
        pytest.param("4 copies", "4 pages", False, id="other words"),
    ],
)
def test_messages_that_say_the_same(old: str, new: str, *, same: bool) -> None:
    assert same_but_figures(old, new) == same
