"""Waiting for free pages, on an event loop whose time is simulated."""

import asyncio
from types import SimpleNamespace

import pytest

from pdworker.kv import gate
from pdworker.kv.gate import QUARANTINE_SECONDS, PageGate
from pdworker.reasons import Reason, TransferError

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=lambda: asyncio.get_running_loop().time())
    monkeypatch.setattr(gate, "time", clock)


async def give_back_after(pages: PageGate, held: tuple[int, ...], seconds: float) -> None:
    await asyncio.sleep(seconds)
    pages.give_back(held)


async def test_free_pages_are_taken_at_once() -> None:
    assert await PageGate(4).take(3, seconds=1) == (0, 1, 2)


async def test_one_that_waits_gets_pages_as_soon_as_they_come_back() -> None:
    pages, start = PageGate(4), asyncio.get_running_loop().time()
    held = await pages.take(4, seconds=1)
    returning = asyncio.create_task(give_back_after(pages, held, 3.0))
    assert await pages.take(2, seconds=10) == (0, 1)
    assert asyncio.get_running_loop().time() - start == pytest.approx(3.0)
    await returning


async def test_more_than_the_pool_has_is_refused_without_waiting() -> None:
    start = asyncio.get_running_loop().time()
    with pytest.raises(TransferError, match="5 pages asked for, the pool has 4") as failed:
        await PageGate(4).take(5, seconds=60)
    assert failed.value.reason is Reason.POOL_EXHAUSTED
    assert asyncio.get_running_loop().time() == start


async def test_pages_that_do_not_come_back_in_time_fail_the_request() -> None:
    pages = PageGate(4)
    await pages.take(4, seconds=1)
    with pytest.raises(TransferError, match="1 pages did not become free in 7 s") as failed:
        await pages.take(1, seconds=7)
    assert failed.value.reason is Reason.POOL_EXHAUSTED


async def test_quarantined_pages_come_back_by_the_clock_alone() -> None:
    pages, start = PageGate(4), asyncio.get_running_loop().time()
    pages.quarantine(await pages.take(4, seconds=1))
    assert await pages.take(4, seconds=60) == (0, 1, 2, 3)
    waited = asyncio.get_running_loop().time() - start
    assert QUARANTINE_SECONDS <= waited <= QUARANTINE_SECONDS + 0.5


async def test_first_come_first_served() -> None:
    pages, order = PageGate(4), list[int]()

    async def take(count: int) -> None:
        taken = await pages.take(count, seconds=60)
        order.append(count)
        pages.give_back(taken)

    held = await pages.take(3, seconds=1)
    waiting = [asyncio.create_task(take(count)) for count in (4, 1)]
    await give_back_after(pages, held, 2.0)
    await asyncio.gather(*waiting)
    assert order == [4, 1]
