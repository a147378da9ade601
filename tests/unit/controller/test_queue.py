"""The work queue, on an event loop whose time is simulated: nothing here waits for real."""

import asyncio
import collections
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdoperator.controller.queue import Backoff, Queue

pytestmark = pytest.mark.looptime


def a_queue(**backoff: float) -> Queue[str]:
    return Queue(now=asyncio.get_running_loop().time, random=lambda: 0.5, backoff=Backoff(**backoff))


async def the_next(queue: Queue[str]) -> str:
    async with queue.claim() as key:
        return key


async def nothing_within(queue: Queue[str], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds), queue.claim():
            return False
    except TimeoutError:
        return True


async def test_keys_come_out_in_the_order_they_went_in() -> None:
    queue = a_queue()
    for key in ("b", "a", "c"):
        queue.add(key)
    assert [await the_next(queue) for _ in range(3)] == ["b", "a", "c"]


async def test_a_key_added_three_times_is_worked_on_once() -> None:
    queue = a_queue()
    for _ in range(3):
        queue.add("a")
    assert queue.depth == 1
    assert await the_next(queue) == "a"
    assert await nothing_within(queue, 3600)


async def test_a_key_that_is_worked_on_is_not_given_to_a_second_worker() -> None:
    queue = a_queue()
    queue.add("a")
    async with queue.claim():
        queue.add("a")
        assert queue.depth == 0
        assert await nothing_within(queue, 3600)


async def test_a_key_dirtied_while_worked_on_goes_round_again_once() -> None:
    queue = a_queue()
    queue.add("a")
    async with queue.claim():
        queue.add("a")
        queue.add("a")
    assert await the_next(queue) == "a"
    assert await nothing_within(queue, 3600)


async def test_a_key_dirtied_while_worked_on_goes_round_again_after_a_crash_too() -> None:
    queue = a_queue()
    queue.add("a")
    with contextlib.suppress(RuntimeError):
        async with queue.claim():
            queue.add("a")
            raise RuntimeError
    assert await the_next(queue) == "a"


async def test_a_delayed_key_comes_out_when_it_is_due_and_not_before() -> None:
    loop, queue = asyncio.get_running_loop(), a_queue()
    queue.add_after("a", 15)
    assert await the_next(queue) == "a"
    assert loop.time() == pytest.approx(15)


async def test_of_two_delays_the_earlier_counts_and_the_later_is_dropped() -> None:
    loop, queue = asyncio.get_running_loop(), a_queue()
    queue.add_after("a", 15)
    queue.add_after("a", 5)
    queue.add_after("a", 10)
    assert await the_next(queue) == "a"
    assert loop.time() == pytest.approx(5)
    assert await nothing_within(queue, 3600)


async def test_an_event_overtakes_a_delay_and_makes_it_needless() -> None:
    loop, queue = asyncio.get_running_loop(), a_queue()
    queue.add_after("a", 60)
    queue.add("a")
    assert await the_next(queue) == "a"
    assert loop.time() == pytest.approx(0)
    assert await nothing_within(queue, 3600)


async def test_a_delay_that_ends_while_the_key_is_worked_on_is_not_lost() -> None:
    queue = a_queue()
    queue.add("a")
    async with queue.claim():
        queue.add_after("a", 1)
        await asyncio.sleep(2)
        assert await nothing_within(queue, 1)
    assert await the_next(queue) == "a"


async def test_a_worker_that_waits_is_woken_by_a_new_key() -> None:
    queue = a_queue()
    waiting = asyncio.create_task(the_next(queue))
    await asyncio.sleep(100)
    queue.add("a")
    assert await waiting == "a"


async def test_a_failing_key_backs_off_alone_and_recovers_at_once() -> None:
    queue = a_queue(base_seconds=1, cap_seconds=60)
    assert [queue.retry("a") for _ in range(3)] == [1, 2, 4]
    assert queue.retry("b") == 1
    queue.succeeded("a")
    assert queue.retry("a") == 1


@pytest.mark.parametrize(
    ("failures", "random", "seconds"),
    [
        pytest.param(1, 0.5, 0.2, id="the first retry is quick"),
        pytest.param(4, 0.5, 1.6, id="each doubles"),
        pytest.param(9, 0.5, 51.2, id="the last below the cap"),
        pytest.param(10, 0.5, 60.0, id="the cap"),
        pytest.param(10_000, 0.5, 60.0, id="very many failures don't overflow"),
        pytest.param(10, 0.0, 48.0, id="jitter takes a fifth off"),
        pytest.param(10, 1.0, 72.0, id="or adds a fifth"),
    ],
)
async def test_backoff(failures: int, random: float, seconds: float) -> None:
    assert Backoff().delay(failures=failures, random=random) == pytest.approx(seconds)


async def test_ages_tell_how_long_the_oldest_waits_and_works() -> None:
    queue = a_queue()
    assert (queue.oldest_waiting_seconds, queue.oldest_working_seconds) == (0, 0)
    queue.add("a")
    await asyncio.sleep(3)
    queue.add("b")
    assert queue.oldest_waiting_seconds == pytest.approx(3)
    async with queue.claim():
        await asyncio.sleep(7)
        assert queue.oldest_waiting_seconds == pytest.approx(7)
        assert queue.oldest_working_seconds == pytest.approx(7)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=40), st.integers(1, 4))
def test_nothing_is_lost_and_no_key_is_worked_on_twice_at_once(adds: list[tuple[str, int]], workers: int) -> None:
    """Whatever the interleaving: after its last add, a key is worked on from start to end."""
    last_add: dict[str, float] = {}
    last_start: dict[str, float] = {}
    in_flight: collections.Counter[str] = collections.Counter()
    step = 0

    async def work(queue: Queue[str]) -> None:
        nonlocal step
        while True:
            async with queue.claim() as key:
                in_flight[key] += 1
                assert in_flight[key] == 1
                step += 1
                last_start[key] = step
                for _ in range(len(key) + step % 3):
                    await asyncio.sleep(0)
                in_flight[key] -= 1

    async def scenario() -> None:
        nonlocal step
        queue: Queue[str] = Queue(now=lambda: float(step), random=lambda: 0.0)
        tasks = [asyncio.create_task(work(queue)) for _ in range(workers)]
        for key, pause in adds:
            step += 1
            last_add[key] = step
            queue.add(key)
            for _ in range(pause):
                await asyncio.sleep(0)
        for _ in range(500):
            await asyncio.sleep(0)
        assert all(not task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scenario())
    assert all(last_start.get(key, 0) > added for key, added in last_add.items())
