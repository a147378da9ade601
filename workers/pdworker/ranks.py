"""The rank processes of a pod, as its supervisor sees them: started, spoken to over socket files, ended together."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from pdworker.reasons import Reason, TransferError

LOG = logging.getLogger(__name__)
STATE_TIMEOUT = aiohttp.ClientTimeout(total=1)  # a rank answers from memory; a second means it is stuck
MAX_PAGE_BYTES = 1 << 20  # a rank's page is about 6 KiB
STOP_SECONDS = 5.0  # less than the pod's grace period by far


class RankDied(RuntimeError):  # noqa: N818 -- an event, not a mistake of the caller
    """A rank ended by itself: the pod can't serve without it."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank process."""

    number: int
    process: asyncio.subprocess.Process
    http: aiohttp.ClientSession

    async def is_ready(self) -> bool:
        """Whether it has initialised."""
        return await self.page("/state") is not None

    async def page(self, path: str = "/metrics") -> str | None:
        """A text page of it; None when there is no answer in time: a gap, not an empty page."""
        try:
            async with self.http.get(f"http://rank{path}", timeout=STATE_TIMEOUT) as answer:
                text = b""
                async for piece in answer.content.iter_any():  # one read would end with the first piece
                    text += piece
                    if len(text) > MAX_PAGE_BYTES:
                        return None
                return text.decode() if answer.status == 200 else None  # noqa: PLR2004 -- OK
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None

    async def ask(self, verb: str, body: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
        """Have it do its part of a request. Raises TransferError with the rank's reason."""
        timeout = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self.http.post(f"http://rank/{verb}", json=body, timeout=timeout) as answer:
                said: dict[str, Any] = await answer.json()
        except (aiohttp.ClientError, OSError, TimeoutError) as failed:
            raise TransferError(Reason.PEER_LOST, f"rank {self.number} of this pod: {failed!r}") from None
        if "reason" in said:
            raise TransferError(Reason(said["reason"]), f"rank {self.number}: {said['detail']}")
        return said


@contextlib.asynccontextmanager
async def running(count: int, *, folder: Path) -> AsyncIterator[list[Rank]]:
    """Start the ranks; end them all when the block ends, however it ends."""
    async with contextlib.AsyncExitStack() as stack:
        ranks = [await _start(stack, number, folder / f"rank-{number}.sock") for number in range(count)]
        stack.push_async_callback(_stop, ranks)
        yield ranks


async def first_death(ranks: list[Rank]) -> None:
    """Wait until a rank ends by itself. Raises RankDied naming it and its status."""
    waits = {asyncio.create_task(rank.process.wait()): rank for rank in ranks}
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
    dead = waits[done.pop()]
    raise RankDied(f"rank {dead.number} ended with status {dead.process.returncode}; its last words are above")


async def _start(stack: contextlib.AsyncExitStack, number: int, path: Path) -> Rank:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pdworker", "rank", str(number), str(path), "--parent", str(os.getpid())
    )
    http = aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path), limit=256))
    stack.push_async_callback(http.close)
    return Rank(number, process, http)


async def _stop(ranks: list[Rank]) -> None:
    for rank in ranks:
        if rank.process.returncode is None:
            rank.process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await asyncio.gather(*(rank.process.wait() for rank in ranks))
    except TimeoutError:
        for rank in ranks:
            if rank.process.returncode is None:
                LOG.warning("rank %d did not end in %.0f s and is killed", rank.number, STOP_SECONDS)
                rank.process.kill()
        await asyncio.gather(*(rank.process.wait() for rank in ranks))
