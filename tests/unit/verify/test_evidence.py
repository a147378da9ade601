"""Increments between pages: baselines, resets, gaps, and sums that never go below zero."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdoperator.verify.evidence import WINDOW, Evidence, absorb
from pdoperator.verify.samples import Reading
from tests.support.pages import MIB, decode, gap, page, pod, prefill


def seen(*observations: tuple[Reading, ...]) -> Evidence:
    evidence = Evidence.empty()
    for readings in observations:
        evidence = absorb(evidence, readings)
    return evidence


def test_the_first_page_is_only_a_baseline() -> None:
    assert seen((prefill(0, transfers=2, logical=549, reported=549),)).intervals == ()


def test_the_second_page_gives_the_increments() -> None:
    evidence = seen(
        (prefill(0, transfers=2, logical=549, reported=549),),
        (prefill(30, transfers=22, logical=6039, reported=22509),),
    )
    (interval,) = evidence.intervals
    (increment,) = interval.increments
    assert (increment.transfers, increment.logical_bytes, increment.reported_bytes) == (20, 5490 * MIB, 21960 * MIB)


def test_a_series_that_appears_later_started_from_zero() -> None:
    before = page(0, 'pd_expected_replica_factor{role="prefill"} 4')
    evidence = seen((before,), (prefill(15, transfers=1, logical=10, reported=40),))
    assert evidence.intervals[0].increments[0].reported_bytes == 40 * MIB


def test_an_interval_with_a_decrease_is_thrown_away_and_is_the_next_baseline() -> None:
    # One pod's sum goes 0 -> 10980, restarts unnoticed, 0 -> 1098; the other goes on 5490 -> 10980.
    other = pod("v2-prefill-1")
    evidence = seen(
        (prefill(0, reported=10980, logical=2745), prefill(0, ref=other, reported=5490, logical=1372.5)),
        (prefill(15, reported=549, logical=137.25), prefill(15, ref=other, reported=10980, logical=2745)),
        (prefill(30, reported=1098, logical=274.5), prefill(30, ref=other, reported=10980, logical=2745)),
    )
    increments = [each for interval in evidence.intervals for each in interval.increments]
    assert [(each.pod.name, each.reported_bytes) for each in increments] == [
        ("v2-prefill-1", 5490 * MIB),
        ("v2-prefill-0", 549 * MIB),
    ]


def test_a_restarted_container_is_another_incarnation() -> None:
    evidence = seen(
        (prefill(0, transfers=5, reported=10),),
        (prefill(15, ref=pod("v2-prefill-0", restarts=1), transfers=9, reported=90),),
    )
    assert evidence.intervals == ()
    assert [each.restarts for each in evidence.pods] == [1]


def test_a_later_process_start_is_a_reset_even_when_no_counter_decreased() -> None:
    before, after = (
        "process_start_time_seconds 100\npd_kv_transfers_total 1",
        "process_start_time_seconds 160\npd_kv_transfers_total 7",
    )
    assert seen((page(0, before),), (page(15, after),)).intervals == ()


def test_what_a_pod_counted_stays_in_the_window_when_it_is_gone() -> None:
    evidence = seen((prefill(0),), (prefill(15, reported=40, logical=10),), ())
    assert not evidence.pods
    assert len(evidence.intervals) == 1


def test_a_gap_keeps_the_baseline_and_the_next_page_covers_both_intervals() -> None:
    evidence = seen((prefill(0),), (gap(15),), (prefill(30, reported=40, logical=10),))
    assert evidence.intervals[0].increments[0].reported_bytes == 40 * MIB


def test_an_idle_interval_leaves_no_trace_but_quiet() -> None:
    evidence = seen((prefill(0, transfers=3),), (prefill(15, transfers=3),))
    assert evidence.intervals == ()
    assert evidence.quiet


def test_the_same_page_twice_adds_nothing() -> None:
    again = prefill(15, reported=40, logical=10)
    assert len(seen((prefill(0),), (again,), (again,)).intervals) == 1


def test_the_window_is_bounded() -> None:
    pages = [(prefill(15 * n, reported=40 * n, logical=10 * n),) for n in range(WINDOW + 5)]
    assert len(seen(*pages).intervals) == WINDOW == 8


@pytest.mark.parametrize(
    ("second", "aligned"),
    [
        pytest.param((prefill(15, logical=10), decode(16, wire=40)), True, id="both read at both ends"),
        pytest.param((prefill(15, logical=10), gap(16, ref=pod("v2-decode-0"))), False, id="a gap"),
        pytest.param((prefill(15, logical=10),), False, id="a pod gone"),
        pytest.param((prefill(15, logical=10), decode(16, wire=40), decode(16, ref=pod("new"))), False, id="a pod new"),
        pytest.param((prefill(15, logical=10), decode(16, ref=pod("v2-decode-0", restarts=1))), False, id="a restart"),
    ],
)
def test_sums_over_pods_compare_only_when_every_pod_was_read(second: tuple[Reading, ...], *, aligned: bool) -> None:
    assert aligned == seen((prefill(0), decode(1)), second).intervals[-1].aligned


def test_the_interval_after_a_gap_is_not_aligned_either() -> None:
    evidence = seen(
        (prefill(0), decode(1)),
        (prefill(15, logical=10), gap(16, ref=pod("v2-decode-0"))),
        (prefill(30, logical=20), decode(31, wire=80)),
    )
    assert [each.aligned for each in evidence.intervals] == [False, False]


@pytest.mark.parametrize("value", ["NaN", "-1", "+Inf", "1e300"])
def test_a_page_that_cannot_be_true_is_a_gap(value: str) -> None:
    evidence = seen((page(0, f"pd_kv_wire_bytes_total {value}"),))
    (standing,) = evidence.pods.values()
    assert standing.gaps_in_a_row == 1
    assert standing.gap is not None
    assert standing.gap.reason.value == "Malformed"


counts = st.integers(0, 50)


@settings(max_examples=40)  # each is a whole history
@given(st.lists(st.tuples(counts, counts, counts, counts), max_size=12))
def test_no_increment_is_ever_negative(history: list[tuple[int, int, int, int]]) -> None:
    evidence = Evidence.empty()
    for number, (transfers, logical, reported, wire) in enumerate(history):
        sender = prefill(number, transfers=transfers, logical=logical, reported=reported, failures={"Timeout": wire})
        evidence = absorb(evidence, (sender, decode(number, wire=wire, corrupt=logical)))
        for each in (each for interval in evidence.intervals for each in interval.increments):
            sizes = (
                each.transfers,
                each.logical_bytes,
                each.reported_bytes,
                each.wire_bytes,
                each.corrupt_pages,
                each.failed,
            )
            assert min(sizes) >= 0


def test_the_order_of_the_readings_is_of_no_matter() -> None:
    before = (prefill(0), decode(0), prefill(0, ref=pod("v2-prefill-1")))
    missed = gap(15, ref=pod("v2-prefill-1"))
    after: tuple[Reading, ...] = (prefill(15, logical=10, reported=40), decode(15, wire=40), missed)
    results = [absorb(absorb(Evidence.empty(), before), each) for each in itertools.permutations(after)]
    assert all(each == results[0] for each in results)
