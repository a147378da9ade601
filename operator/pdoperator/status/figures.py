"""Figures as the status shows them: rounded to two significant digits, and kept while they are nearly right."""

import re
from fractions import Fraction
from typing import Final

from pdoperator.verify.bandwidth import close_rates
from pdoperator.verify.wording import significant

# Decimal units, as network cards are sold; engines' own GB/s are GiB/s.
_UNITS: Final = (("TB/s", 10**12), ("GB/s", 10**9), ("MB/s", 10**6), ("kB/s", 10**3))
_TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ([TGMk]?B/s)")


def rate_text(bytes_per_second: int) -> str:
    """2426704457 -> 2.4 GB/s."""
    for unit, size in _UNITS:
        if bytes_per_second * 1000 >= size * 995:  # 999 MB/s rounds to 1 GB/s, not to 1000 MB/s
            return f"{significant(Fraction(bytes_per_second, size))} {unit}"
    return f"{bytes_per_second} B/s"


def rate_of(text: str) -> int | None:
    """The rate that a text of ours stands for; None for any other text."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    sizes = dict(_UNITS)
    return int(Fraction(found[1]) * sizes.get(found[2], 1))


def steady_rate_text(stored: str, measured: int | None) -> str:
    """The stored text while it is nearly right, or nothing newer was measured; else the new figure's."""
    if close_rates(rate_of(stored), measured):
        return stored
    return "" if measured is None else rate_text(measured)


def factor_text(*, expected: int | None, observed: str) -> str:
    """`4` as expected (and as observed, if it was), `1/4` for observed 1 and expected 4, nothing while unknown."""
    if expected is None:
        return ""
    return str(expected) if observed in {"", str(expected)} else f"{observed}/{expected}"
