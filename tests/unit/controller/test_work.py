import asyncio
import contextlib
import logging

import pytest

from pdoperator.api.errors import Bug, Conflict, Invalid, Transient
from pdoperator.controller.metrics import Metrics
from pdoperator.controller.queue import Backoff, Queue
from pdoperator.controller.work import ReconcileWorker
from pdoperator.live.state import Key

pytestmark = pytest.mark.looptime

KEY, OTHER = Key("ns", "v2"), Key("ns", "v3")


class Rounds:
    """A reconcile that does as told, and notes when."""

    def __init__(self, *ends: Exception | bool) -> None:
        self.ends = list(ends)
        self.at: list[float] = []

    async def __call__(self, key: Key) -> bool:
        if key != KEY:
            return True
        self.at.append(round(asyncio.get_running_loop().time(), 1))
        end = self.ends.pop(0) if self.ends else True
        if isinstance(end, Exception):
            raise end
        return end


async def worked(rounds: Rounds, *, seconds: float) -> Metrics:
    """What was counted after a worker has had so long for KEY."""
    metrics = Metrics()
    backoff = Backoff(base_seconds=1, cap_seconds=60)
    queue: Queue[Key] = Queue(now=asyncio.get_running_loop().time, random=lambda: 0.5, backoff=backoff)
    queue.add(KEY)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await ReconcileWorker(queue=queue, reconcile=rounds, metrics=metrics).run()
    return metrics


def count(metrics: Metrics, result: str) -> float | None:
    return metrics.registry.get_sample_value("pd_operator_reconciles_total", {"result": result})


@pytest.mark.parametrize(
    ("ends", "at", "result"),
    [
        pytest.param([True], [0], "ok", id="well: done"),
        pytest.param([False], [0], "gone", id="gone: dropped"),
        pytest.param([Transient("x")] * 3, [0, 1, 3, 7], "transient", id="transient: backs off"),
        pytest.param([Conflict("x")], [0, 1], "conflict", id="conflict: soon again"),
        pytest.param([Bug("x")] * 2, [0, 1, 3], "bug", id="our mistake: backs off, doesn't spin"),
        pytest.param([KeyError("x")] * 2, [0, 1, 3], "unexpected", id="anything else: the same"),
        pytest.param([Invalid("spec", "x")] * 2, [0, 60, 120], "invalid", id="the user's turn: a look each minute"),
    ],
)
async def test_a_round_that_ends(ends: list[Exception | bool], at: list[float], result: str) -> None:
    rounds = Rounds(*ends)
    metrics = await worked(rounds, seconds=150)
    assert rounds.at == at
    assert count(metrics, result) == (len(ends) if result != "ok" else 1)


async def test_an_unexpected_error_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    await worked(Rounds(KeyError("oh")), seconds=0.5)
    (record,) = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert "ns/v2" in record.getMessage()
    assert record.exc_info is not None


async def test_a_success_forgets_the_failures_before_it() -> None:
    rounds = Rounds(Transient("x"), Transient("x"))
    await worked(rounds, seconds=10)
    assert rounds.at == [0, 1, 3]
