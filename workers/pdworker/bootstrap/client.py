"""Asking and telling a bootstrap server."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from pdworker.addresses import url
from pdworker.bootstrap.registry import Place
from pdworker.bootstrap.server import NO_RANK, QUERY, ROW
from pdworker.reasons import Reason, TransferError

ASK_TIMEOUT = aiohttp.ClientTimeout(total=5, connect=2)  # a lookup in memory, one network round trip away
RETRY_SECONDS = 0.5
MAX_ANSWER_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """One prefill instance's server."""

    host: str
    port: int

    async def register(self, session: aiohttp.ClientSession, place: Place, *, ip: str, port: int) -> None:
        """Tell it of a rank. Raises aiohttp.ClientError when it isn't there or refuses."""
        row = {name: getattr(place, axis) for axis, name in ROW.items()} | {"rank_ip": ip, "rank_port": port}
        async with session.put(url(self.host, self.port, "/route"), json=row, timeout=ASK_TIMEOUT) as answer:
            answer.raise_for_status()

    async def topology(
        self, session: aiohttp.ClientSession, *, seconds: float, clock: Callable[[], float]
    ) -> dict[str, Any]:
        """The instance's topology, asked for again while its ranks are still registering.

        Raises TransferError when the time is up.
        """
        return await self._ask(session, Place(NO_RANK, NO_RANK, NO_RANK, NO_RANK), end=clock() + seconds, clock=clock)

    async def address(
        self, session: aiohttp.ClientSession, rank: int, *, seconds: float, clock: Callable[[], float]
    ) -> tuple[str, int]:
        """Where an attention rank of context rank 0 listens. Raises TransferError when the time is up."""
        found = await self._ask(session, Place(dp=0, cp=0, tp=rank, pp=0), end=clock() + seconds, clock=clock)
        try:
            return str(found["rank_ip"]), int(found["rank_port"])
        except (KeyError, ValueError) as wrong:
            raise TransferError(Reason.MALFORMED_MESSAGE, f"{self} answered {found}: {wrong!r}") from None

    async def _ask(
        self, session: aiohttp.ClientSession, place: Place, *, end: float, clock: Callable[[], float]
    ) -> dict[str, Any]:
        query = {name: str(getattr(place, axis)) for axis, name in QUERY.items()}
        while True:
            said = await self._once(session, query)
            if isinstance(said, dict):
                return said
            if clock() > end:
                raise TransferError(Reason.BOOTSTRAP_UNREACHABLE, f"{url(self.host, self.port)}: {said}")
            await asyncio.sleep(RETRY_SECONDS)

    async def _once(self, session: aiohttp.ClientSession, query: dict[str, str]) -> dict[str, Any] | str:
        try:
            async with session.get(url(self.host, self.port, "/route"), params=query, timeout=ASK_TIMEOUT) as answer:
                if answer.status != 200:  # noqa: PLR2004 -- OK
                    return f"{answer.status} {(await answer.content.read(200)).decode(errors='replace')}"
                found = await answer.json()
                return found if isinstance(found, dict) else f"answered {str(found)[:200]}"
        except (aiohttp.ClientError, TimeoutError, ValueError) as failed:
            return repr(failed)
