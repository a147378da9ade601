"""How many requests a decode pod takes at once."""

import asyncio

import pytest

from pdworker.admission import MAX_QUEUED, Admission, QueueFullError

pytestmark = pytest.mark.looptime


async def hold(admission: Admission, pages: int, *, seconds: float, ended: list[tuple[int, float]]) -> None:
    """A request of so many pages, that takes so long."""
    async with admission.pages(pages):
        await asyncio.sleep(seconds)
    ended.append((pages, asyncio.get_running_loop().time()))


async def test_what_fits_runs_at_once_and_the_rest_waits_for_pages() -> None:
    admission, ended = Admission(10), list[tuple[int, float]]()
    start = asyncio.get_running_loop().time()
    await asyncio.gather(*(hold(admission, pages, seconds=1.0, ended=ended) for pages in (6, 4, 5)))
    assert [(pages, round(at - start)) for pages, at in ended] == [(6, 1), (4, 1), (5, 2)]


async def test_a_small_request_does_not_overtake_a_large_one_that_waits() -> None:
    admission, ended = Admission(10), list[tuple[int, float]]()
    await asyncio.gather(*(hold(admission, pages, seconds=1.0, ended=ended) for pages in (6, 10, 1)))
    assert [pages for pages, _ in ended] == [6, 10, 1]


async def test_pages_come_back_from_a_request_that_failed() -> None:
    admission = Admission(10)
    for _ in range(3):
        with pytest.raises(ValueError, match="as a request fails"):
            async with admission.pages(10):
                raise ValueError("as a request fails")
    async with asyncio.timeout(1), admission.pages(10):
        pass


async def test_one_who_gives_up_waiting_takes_nothing_along() -> None:
    admission = Admission(10)
    async with admission.pages(6):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1), admission.pages(5):
                pytest.fail("there were no five pages")
        async with asyncio.timeout(1), admission.pages(4):
            pass
    async with asyncio.timeout(1), admission.pages(10):
        pass


async def test_the_queue_is_bounded_and_says_so() -> None:
    admission, ended = Admission(1), list[tuple[int, float]]()
    tasks = [asyncio.create_task(hold(admission, 1, seconds=1.0, ended=ended)) for _ in range(MAX_QUEUED + 1)]
    await asyncio.sleep(0.5)
    with pytest.raises(QueueFullError, match="64 requests wait already"):
        async with admission.pages(1):
            pytest.fail("the queue was full")
    await asyncio.gather(*tasks)
    assert len(ended) == MAX_QUEUED + 1
