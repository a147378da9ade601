"""Parts that each run for ever, side by side, until the first of them ends or somebody asks for a stop."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

Part = Callable[[], Coroutine[Any, Any, None]]


class EndedByItself(Exception):  # noqa: N818 -- what happened to a part
    """A part that should run for ever returned."""


async def supervise(parts: Mapping[str, Part], *, stop: asyncio.Event, stop_seconds: float) -> None:
    """Return when `stop` is set; raise what a part raised, or EndedByItself. Either way every part has been cancelled.

    A part gets `stop_seconds` to end; one that doesn't is left behind: the process is about to end anyway.
    """
    tasks = {asyncio.create_task(part(), name=name) for name, part in parts.items()}
    asked = asyncio.create_task(stop.wait(), name="stop")
    try:
        done, _ = await asyncio.wait({*tasks, asked}, return_when=asyncio.FIRST_COMPLETED)
        for task in done - {asked}:
            task.result()
            if not stop.is_set():
                raise EndedByItself(task.get_name())
    finally:
        for task in (*tasks, asked):
            task.cancel()
        ended, _ = await asyncio.wait({*tasks, asked}, timeout=stop_seconds)
        for task in ended:
            if not task.cancelled():
                task.exception()  # looked at, so that asyncio doesn't report it: the first failure is what counts
