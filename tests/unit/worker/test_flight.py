"""Writes in flight, against a fake status function that notices every question too many."""

from collections.abc import Callable

import pytest

from pdworker.transfer.backends import mooncake
from pdworker.transfer.backends.base import EngineError
from pdworker.transfer.backends.mooncake import _Flight

RUNNING, DONE, FAILED, TIMED_OUT = 0, 1, -1, -2


class FakeStatus:
    """Answers of each batch in turn, the last one an end; the engine frees an ended batch, so this counts such asks."""

    def __init__(self, answers: dict[int, list[int]]) -> None:
        self.answers = answers
        self.asked_again: list[int] = []
        self._ended: set[int] = set()

    def __call__(self, batch: int) -> int:
        if batch in self._ended:
            self.asked_again.append(batch)
        state = self.answers[batch].pop(0) if len(self.answers[batch]) > 1 else self.answers[batch][0]
        if state != RUNNING:
            self._ended.add(batch)
        return state

    @property
    def ended(self) -> list[int]:
        return sorted(self._ended)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mooncake, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(mooncake, "DRAIN_SECONDS", 0.02)


def a_flight(status: Callable[[int], int], batches: dict[int, str]) -> _Flight:
    flight = _Flight(status)
    for batch, peer in batches.items():
        flight.add(peer, batch)
    return flight


def test_it_finishes_when_all_have_ended_and_asks_none_again() -> None:
    status = FakeStatus({1: [RUNNING, RUNNING, DONE], 2: [DONE], 3: [RUNNING, DONE]})
    flight = a_flight(status, {1: "a", 2: "b", 3: "a"})
    flight.finish()
    flight.finish()
    assert (status.ended, status.asked_again) == ([1, 2, 3], [])


@pytest.mark.parametrize("state", [pytest.param(FAILED, id="failed"), pytest.param(TIMED_OUT, id="timed out")])
def test_the_first_failure_ends_it_after_the_others_have_ended(state: int) -> None:
    status = FakeStatus({1: [DONE], 2: [RUNNING, state], 3: [RUNNING, RUNNING, DONE], 4: [FAILED]})
    flight = a_flight(status, {1: "a", 2: "b", 3: "a", 4: "c"})
    with pytest.raises(EngineError, match=f"a write to b failed with status {state}"):
        flight.finish()
    assert (status.ended, status.asked_again) == ([1, 2, 3, 4], [])


def test_one_that_never_ends_holds_a_failure_up_for_a_bounded_time() -> None:
    status = FakeStatus({1: [FAILED], 2: [RUNNING]})
    with pytest.raises(EngineError, match="a write to a failed with status -1"):
        a_flight(status, {1: "a", 2: "b"}).finish()
    assert status.ended == [1]


def test_room_is_made_for_a_peer_by_ending_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mooncake, "MAX_IN_FLIGHT", 2)
    status = FakeStatus({1: [RUNNING, DONE], 2: [DONE], 3: [DONE]})
    flight = a_flight(status, {1: "b", 2: "a", 3: "a"})
    flight.make_room("b")
    assert status.ended == []
    flight.make_room("a")
    assert status.ended == [1, 2]
    flight.finish()
    assert (status.ended, status.asked_again) == ([1, 2, 3], [])
