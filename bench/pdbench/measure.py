"""A measured figure, as a row of the table and as a line of JSON."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure: `value` is what to quote, the rest says how far to trust it."""

    name: str
    value: float
    unit: str
    runs: int
    min: float
    median: float
    max: float
    ours_median: float | None = None  # for a ratio: the median above the line
    theirs_median: float | None = None  # and below it


def of(name: str, values: Sequence[float], *, unit: str) -> Measure:
    """The median of several runs of one thing."""
    return _measure(name, statistics.median(values), values, unit=unit)


def p99(name: str, values: Sequence[float], *, unit: str) -> Measure:
    """The 99th percentile by nearest rank: of fewer than 100 runs it is the largest."""
    ranked = sorted(values)
    return _measure(name, ranked[math.ceil(0.99 * len(ranked)) - 1], values, unit=unit)


def ratio(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Measure:
    """Ours over theirs, of the medians of rounds that were interleaved; min and max are of the rounds' own ratios."""
    by_round = [above / below for above, below in zip(ours, theirs, strict=True)]
    above, below = statistics.median(ours), statistics.median(theirs)
    return Measure(
        name=name,
        value=above / below,
        unit="ratio",
        runs=len(by_round),
        min=min(by_round),
        median=statistics.median(by_round),
        max=max(by_round),
        ours_median=above,
        theirs_median=below,
    )


def record(measures: Sequence[Measure], *, path: Path) -> None:
    """Append each measure to the file as a line of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lines:
        for measure in measures:
            kept = {key: value for key, value in asdict(measure).items() if value is not None}
            lines.write(json.dumps(kept) + "\n")


def table(measures: Sequence[Measure]) -> str:
    """The measures for a person, one a line."""
    header = f"{'name':44} {'value':>12} {'unit':18} {'runs':>5} {'min':>12} {'median':>12} {'max':>12}"
    return "\n".join([header, *map(_row, measures)])


def _row(m: Measure) -> str:
    sides = f"  ({m.ours_median:.4g} / {m.theirs_median:.4g})" if m.theirs_median is not None else ""
    return f"{m.name:44} {m.value:12.4g} {m.unit:18} {m.runs:5} {m.min:12.4g} {m.median:12.4g} {m.max:12.4g}{sides}"


def _measure(name: str, value: float, values: Sequence[float], *, unit: str) -> Measure:
    return Measure(
        name=name,
        value=value,
        unit=unit,
        runs=len(values),
        min=min(values),
        median=statistics.median(values),
        max=max(values),
    )
