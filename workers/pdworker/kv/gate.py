"""Waiting for free pages, first come first served."""

import asyncio
import time
from collections.abc import Iterable

from pdworker.kv.pages import FreePages
from pdworker.reasons import Reason, TransferError

QUARANTINE_MARGIN_SECONDS = 5.0  # what kernels still hold lands after the engine's own deadline
QUARANTINE_SECONDS = 10.0 + QUARANTINE_MARGIN_SECONDS  # for the deadline that the operator sets (MC_TRANSFER_TIMEOUT)
LOOK_AGAIN_SECONDS = 0.5  # quarantined pages become free by the clock, not by an event


class PageGate:
    """The free pages of this rank's pool, for tasks that can wait."""

    def __init__(self, pages: int, *, quarantine_s: float = QUARANTINE_SECONDS) -> None:
        self._free = FreePages(pages)
        self._quarantine_s = quarantine_s
        self._turn = asyncio.Lock()
        self._returned = asyncio.Event()

    async def take(self, count: int, *, seconds: float) -> tuple[int, ...]:
        """So many pages, when they are free. Raises TransferError when that is never, or not in time."""
        if count > self._free.total:
            raise TransferError(Reason.POOL_EXHAUSTED, f"{count} pages asked for, the pool has {self._free.total}")
        try:
            async with asyncio.timeout(seconds), self._turn:
                while (pages := self._free.take(count, now=time.monotonic())) is None:
                    self._returned.clear()
                    await self._wait_a_while()
                return pages
        except TimeoutError:
            raise TransferError(
                Reason.POOL_EXHAUSTED, f"{count} pages did not become free in {seconds:.0f} s"
            ) from None

    def give_back(self, pages: Iterable[int]) -> None:
        """Pages whose transfer ended well."""
        self._free.give_back(pages)
        self._returned.set()

    def quarantine(self, pages: Iterable[int]) -> None:
        """Pages whose transfer failed: nobody gets them until the engine has surely given up."""
        self._free.quarantine(pages, until=time.monotonic() + self._quarantine_s)

    async def _wait_a_while(self) -> None:
        try:
            async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                await self._returned.wait()
        except TimeoutError:
            return
