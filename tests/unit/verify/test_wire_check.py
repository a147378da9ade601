"""Receivers' bytes against senders': only told apart where reading pods one after the other can't explain it."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from pdoperator.verify.evidence import Evidence, absorb
from pdoperator.verify.samples import Reading
from pdoperator.verify.wire_check import WireAgrees, WireDiffers, WireUnjudged, wire
from tests.support.pages import decode, gap, pod, prefill

Row = tuple[int, float, float]  # running totals: transfers, logical MiB, wire MiB


def judged(rows: Sequence[Row], *, skew: float = 1.0) -> object:
    evidence = after(*(_read(15.0 * n, row, skew) for n, row in enumerate(rows)))
    return wire(evidence, factor=4, tolerance=Fraction("0.05"))


def after(*observations: Sequence[Reading]) -> Evidence:
    evidence = Evidence.empty()
    for readings in observations:
        evidence = absorb(evidence, readings)
    return evidence


def _read(at: float, row: Row, skew: float) -> list[Reading]:
    transfers, logical, received = row
    return [prefill(at, transfers=transfers, logical=logical, reported=4 * logical), decode(at + skew, wire=received)]


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        pytest.param([(0, 0, 0), (1, 10, 40), (1, 10, 40)], WireAgrees(), id="one request between quiet moments"),
        pytest.param([(0, 0, 0), (1, 10, 40)], WireUnjudged(), id="one request, perhaps not all of it yet"),
        pytest.param(
            [(0, 0, 0), (400, 4000, 16000)], WireAgrees(), id="so many that those in flight at the edges don't count"
        ),
        pytest.param([(0, 0, 0), (2, 20, 40), (3, 30, 120), (3, 30, 120)], WireAgrees(), id="edges cancel"),
        pytest.param(
            [(0, 0, 0), (1, 10, 10), (2, 20, 20), (2, 20, 20)], WireUnjudged(), id="off, but not three times in a row"
        ),
        pytest.param(
            [(0, 0, 0), (1, 10, 10), (2, 20, 20), (3, 30, 30), (3, 30, 30)],
            WireDiffers(Fraction(1)),
            id="one copy arrives where four are reported",
        ),
        pytest.param(
            [(0, 0, 0), (500, 500, 3000), (1000, 1000, 6000), (1500, 1500, 9000)],
            WireDiffers(Fraction(6)),
            id="more arrives than is reported, under load",
        ),
        pytest.param(
            [(0, 0, 0), (500, 500, 2900), (1000, 1000, 4200), (1500, 1500, 7000)],
            WireUnjudged(),
            id="off, but not always to one side",
        ),
        pytest.param(
            [(0, 0, 0), (1, 10, 0), (2, 20, 0), (3, 30, 0), (3, 30, 0)], WireUnjudged(), id="receivers are mute"
        ),
        pytest.param([(0, 0, 0), (0, 0, 40), (0, 0, 40)], WireUnjudged(), id="no sender counts"),
        pytest.param([(0, 0, 0), (0, 0, 0)], WireUnjudged(), id="no traffic"),
    ],
)
def test_wire(rows: Sequence[Row], verdict: object) -> None:
    assert judged(rows) == verdict


def test_a_slow_round_of_reads_is_allowed_for() -> None:
    steady = [(0, 0, 0), (500, 500, 2200), (1000, 1000, 4400), (1500, 1500, 6600)]
    assert isinstance(judged(steady, skew=0.1), WireDiffers)
    assert isinstance(judged(steady, skew=2.0), WireAgrees)


def test_a_pod_that_could_not_be_read_begins_the_run_anew() -> None:
    evidence = after(
        [prefill(0), decode(0)],
        [prefill(15, transfers=1, logical=10), gap(15, ref=pod("v2-decode-0"))],
        [prefill(30, transfers=1, logical=10), decode(30, wire=40)],
        [prefill(45, transfers=1, logical=10), decode(45, wire=40)],
    )
    assert wire(evidence, factor=4, tolerance=Fraction("0.05")) == WireUnjudged()


def test_bytes_of_failed_transfers_are_not_held_against_anybody() -> None:
    failed = {"Timeout": 1}
    rows = [
        [prefill(15 * n, transfers=n, logical=n, failures={"Timeout": n}), decode(15 * n, wire=9 * n, failures=failed)]
        for n in range(4)
    ]
    assert wire(after(*rows), factor=4, tolerance=Fraction("0.05")) == WireUnjudged()
