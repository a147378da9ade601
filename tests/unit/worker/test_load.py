"""What a run of requests is summed up to."""

import json
from typing import Any

import pytest

from pdworker.load import summarise


def moved(*, factor: int | None = 4, rate: int | None = 100) -> dict[str, Any]:
    """The `transfer` part of an answer."""
    return {
        "logical_bytes": 10,
        "reported_bytes": 40,
        "wire_bytes": 40,
        "replica_factor": factor,
        "wire_bytes_per_second": rate,
    }


def test_bytes_are_added_up_and_the_rate_is_of_the_whole_run() -> None:
    found = summarise([(0.1, moved(rate=100)), (0.3, moved(rate=300)), (0.2, moved(rate=200))], seconds=2.0)
    assert (found.requests, found.failures, found.errors) == (3, 0, [])
    assert (found.logical_bytes, found.reported_bytes, found.wire_bytes) == (30, 120, 120)
    assert (found.request_seconds_median, found.request_seconds_max) == (0.2, 0.3)
    assert found.transfer_bytes_per_second_median == 200
    assert found.run_bytes_per_second == 60.0


def test_a_failed_request_counts_as_one_and_adds_nothing() -> None:
    found = summarise([(0.1, moved()), (9.0, "no pair")], seconds=1.0)
    assert (found.requests, found.failures, found.errors) == (2, 1, ["no pair"])
    assert found.wire_bytes == 40
    assert found.request_seconds_max == 0.1


def test_without_an_answer_there_are_no_figures_rather_than_zeros() -> None:
    found = summarise([(0.1, "refused")] * 7, seconds=1.0)
    assert (found.failures, len(found.errors)) == (7, 5)
    assert (found.request_seconds_median, found.transfer_bytes_per_second_median) == (None, None)
    assert "replica factor: unknown" in found.text()


@pytest.mark.parametrize(
    ("factors", "seen"),
    [
        pytest.param([4, 4], [4], id="one factor"),
        pytest.param([4, 2, 4], [2, 4], id="each factor once, in order"),
        pytest.param([None, 4], [4], id="unknown is not a factor"),
        pytest.param([None], [], id="none known"),
    ],
)
def test_the_factors_that_were_seen(factors: list[int | None], seen: list[int]) -> None:
    found = summarise([(0.1, moved(factor=factor)) for factor in factors], seconds=1.0)
    assert found.replica_factors == seen


def test_both_outputs_say_the_same() -> None:
    found = summarise([(0.1, moved()), (0.1, "no pair")], seconds=1.0)
    assert json.loads(found.json())["wire_bytes"] == 40
    assert found.text().splitlines() == [
        "2 requests, 1 failed",
        "bytes: logical 10, reported 40, wire 40",
        "replica factor: 4",
        "rate over the run: 0.00 GB/s of wire bytes",
        "failed: no pair",
    ]
