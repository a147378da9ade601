import asyncio

import pytest

from pdoperator.controller.supervise import EndedByItself, supervise

pytestmark = pytest.mark.looptime


async def forever() -> None:
    await asyncio.Event().wait()


async def crash_after_ten() -> None:
    await asyncio.sleep(10)
    raise ValueError("broken")


async def end_after_ten() -> None:
    await asyncio.sleep(10)


async def test_a_stop_ends_all_parts() -> None:
    stop, ended = asyncio.Event(), []

    async def tidy() -> None:
        try:
            await forever()
        finally:
            ended.append("tidy")

    asyncio.get_running_loop().call_later(30, stop.set)
    await supervise({"a": tidy, "b": forever}, stop=stop, stop_seconds=4)
    assert ended == ["tidy"]
    assert asyncio.get_running_loop().time() == pytest.approx(30)


async def test_a_part_that_crashes_ends_the_others_and_is_raised() -> None:
    with pytest.raises(ValueError, match="broken"):
        await supervise({"a": crash_after_ten, "b": forever}, stop=asyncio.Event(), stop_seconds=4)


async def test_a_part_that_returns_is_named() -> None:
    with pytest.raises(EndedByItself, match="watch"):
        await supervise({"watch": end_after_ten, "b": forever}, stop=asyncio.Event(), stop_seconds=4)


async def test_a_part_that_will_not_end_is_left_behind() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_soon(stop.set)
    ignored = 0

    async def stubborn() -> None:
        nonlocal ignored
        while ignored < 3:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                ignored += 1

    await supervise({"a": stubborn}, stop=stop, stop_seconds=4)
    assert asyncio.get_running_loop().time() == pytest.approx(4)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
