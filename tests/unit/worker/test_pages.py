from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdworker.kv.pages import FreePages, Run, runs


@pytest.mark.parametrize(
    ("sources", "targets", "found"),
    [
        pytest.param([], [], (), id="nothing"),
        pytest.param([0, 1, 2], [4, 5, 6], (Run(0, 4, 3),), id="contiguous at both ends: one write"),
        pytest.param([0, 1, 2], [4, 6, 7], (Run(0, 4, 1), Run(1, 6, 2)), id="a gap at the target"),
        pytest.param([0, 2, 3], [4, 5, 6], (Run(0, 4, 1), Run(2, 5, 2)), id="a gap at the source"),
        pytest.param([0, 1], [5, 4], (Run(0, 5, 1), Run(1, 4, 1)), id="backwards is not contiguous"),
    ],
)
def test_runs(sources: list[int], targets: list[int], found: tuple[Run, ...]) -> None:
    assert runs(sources, targets) == found


def test_both_ends_must_name_as_many_pages() -> None:
    with pytest.raises(ValueError, match="shorter"):
        runs([0, 1], [0])


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_runs_cover_exactly_the_pairs_in_their_order(pairs: list[tuple[int, int]]) -> None:
    found = runs([source for source, _ in pairs], [target for _, target in pairs])
    assert [(run.source + at, run.target + at) for run in found for at in range(run.count)] == pairs
    for before, after in pairwise(found):
        joined = (before.source + before.count, before.target + before.count)
        assert (after.source, after.target) != joined, "two runs that are one write"


def test_the_lowest_free_pages_are_taken_first() -> None:
    pages = FreePages(8)
    assert pages.take(3, now=0.0) == (0, 1, 2)
    assert pages.take(2, now=0.0) == (3, 4)
    pages.give_back((1,))
    assert pages.take(2, now=0.0) == (1, 5)


def test_too_few_free_pages_are_none_and_none_is_taken() -> None:
    pages = FreePages(4)
    pages.take(2, now=0.0)
    assert pages.take(3, now=0.0) is None
    assert pages.take(2, now=0.0) == (2, 3)


@pytest.mark.parametrize(("now", "taken"), [(0.0, None), (14.9, None), (15.0, (0, 1))])
def test_quarantined_pages_are_free_when_their_time_is_over(now: float, taken: tuple[int, ...] | None) -> None:
    pages = FreePages(2)
    pages.take(2, now=0.0)
    pages.quarantine((0, 1), until=15.0)
    assert pages.take(2, now=now) == taken


STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "give back", "quarantine"]), st.integers(1, 6), st.integers(0, 10)), max_size=40
)


@given(STEPS)
def test_no_page_is_handed_out_twice_and_none_is_lost(steps: list[tuple[str, int, int]]) -> None:
    pages, held, until, now = FreePages(10), list[tuple[int, ...]](), dict[int, float](), 0.0
    for what, count, seconds in steps:
        now += seconds
        until = {page: end for page, end in until.items() if end > now}
        if what == "take":
            if (taken := pages.take(count, now=now)) is not None:
                assert len(set(taken)) == count
                assert not set(taken) & {page for each in held for page in each}
                assert not set(taken) & set(until)
                held.append(taken)
        elif held and what == "give back":
            pages.give_back(held.pop())
        elif held:
            over = held.pop()
            pages.quarantine(over, until=now + 5)
            until |= dict.fromkeys(over, now + 5)
    for each in held:
        pages.give_back(each)
    assert pages.take(10, now=now + 5) == tuple(range(10))
