"""Figures and lists as people read them: short, bounded, and steady while the truth behind them is."""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

MOST_NAMES: Final = 5  # more don't help at 3 am, and a message must not grow with the deployment
_CLOSE = Fraction(1, 10)  # figures in words that differ by less say the same
# A number that stands alone: the digits of a pod's name are no figure.
_FIGURE = re.compile(r"(?<![\w.-])[0-9]+(?:\.[0-9]+)?(?![\w-])")


def names(of: Iterable[str], *, most: int = MOST_NAMES) -> str:
    """`a, b and 3 more`, in order, each once."""
    every = sorted(set(of))
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"


def significant(value: Fraction, *, digits: int = 2) -> str:
    """The value to that many significant digits, without an exponent: 2.1726 -> 2.2, 1098 -> 1100, 4.001 -> 4."""
    if value <= 0:
        return "0"
    exponent = 0
    while value >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while value < Fraction(10) ** exponent:
        exponent -= 1
    step = Fraction(10) ** (exponent - digits + 1)
    rounded = round(value / step) * step
    if rounded.denominator == 1:
        return str(rounded.numerator)
    places = max(0, digits - 1 - exponent)
    whole, part = divmod(rounded * 10**places, 10**places)
    return f"{whole}.{int(part):0{places}d}".rstrip("0")


def same_but_figures(old: str, new: str) -> bool:
    """Whether two messages say the same, apart from figures that moved by less than a tenth."""
    if _FIGURE.sub("#", old) != _FIGURE.sub("#", new):
        return False
    pairs = zip(_FIGURE.findall(old), _FIGURE.findall(new), strict=True)
    return all(_close(Fraction(a), Fraction(b)) for a, b in pairs)


def _close(a: Fraction, b: Fraction) -> bool:
    return a == b or abs(a - b) < _CLOSE * max(a, b)
