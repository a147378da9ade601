"""How many requests a decode pod takes at once: as many as its pools hold, a bounded queue behind them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

MAX_QUEUED = 64  # beyond that a client does better to ask another pod


class QueueFullError(RuntimeError):
    """No room even to wait."""


class Admission:
    """Pages of one rank's pool, promised at the pod's door: all ranks have the same, so none may run dry alone."""

    def __init__(self, pages: int) -> None:
        self._free = pages
        self._queued = 0
        self._turn = asyncio.Lock()
        self._returned = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def pages(self, count: int) -> AsyncIterator[None]:
        """Hold so many pages while the block runs, waiting in line for them. Raises QueueFullError."""
        if self._queued >= MAX_QUEUED:
            raise QueueFullError(f"{MAX_QUEUED} requests wait already")
        self._queued += 1
        try:
            async with self._turn, self._returned:
                await self._returned.wait_for(lambda: self._free >= count)
                self._free -= count
        finally:
            self._queued -= 1
        try:
            yield
        finally:
            async with self._returned:
                self._free += count
                self._returned.notify_all()
