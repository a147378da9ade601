"""The receiving side of one decode rank: it finds its source, names its pages, waits, and checks every page."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from pdworker.bootstrap.client import Bootstrap
from pdworker.bootstrap.messages import Done, Registration, TransferInfo
from pdworker.kv.gate import PageGate
from pdworker.kv.pool import Pool
from pdworker.metrics import Metrics
from pdworker.reasons import Reason, TransferError
from pdworker.topology import Group, Sources, sources_of
from pdworker.transfer.factor import ReplicaFactor
from pdworker.transfer.peer import Peer

MAX_BOOTSTRAPS = 1024  # prefill instances remembered; beyond that the oldest is asked again


@dataclass(frozen=True, slots=True)
class Accounts:
    """Where a receiver keeps what it learns."""

    factor: ReplicaFactor
    metrics: Metrics


class Receiver:
    """Pool, peers and accounting of one decode rank."""

    def __init__(
        self, *, rank: int, group: Group, pool: Pool, gate: PageGate, session: str, accounts: Accounts
    ) -> None:
        self._rank = rank
        self._group = group
        self._geometry = geometry = pool.geometry
        self._pool = pool
        self._gate = gate
        self._factor = accounts.factor
        self._metrics = accounts.metrics
        self._registration = Registration(
            decode_rank=rank,
            attention_tp_size=group.attention_tensor,
            session=session,
            layer_addresses=list(pool.addresses()),
            item_bytes=geometry.item_bytes,
            page_size=geometry.page_size,
            kv_cache_dtype=geometry.dtype,
            pool_pages=pool.pages,
        )
        self._peers: dict[tuple[str, int], Peer] = {}
        self._known: dict[Bootstrap, Sources] = {}
        self._http = aiohttp.ClientSession()
        self._connecting = asyncio.Lock()

    async def receive(self, room: int, prompt_tokens: int, bootstrap: Bootstrap, *, seconds: float) -> int:
        """Receive one request's KV; the bytes that arrived and are what was sent.

        All its waits share one deadline, or they would add up to more than anybody waits for the answer.
        Raises TransferError, counted. Pages that a failed transfer may still write to are quarantined.
        """
        end = time.monotonic() + seconds
        try:
            pages = await self._gate.take(self._geometry.pages(prompt_tokens), seconds=seconds)
            try:
                wire_bytes = await self._receive_into(pages, room, bootstrap, end=end)
            except BaseException:
                self._gate.quarantine(pages)
                raise
            self._gate.give_back(pages)
        except TransferError as failed:
            self._known.pop(bootstrap, None)  # its topology or addresses may have changed
            self._metrics.failed(failed.reason)
            raise
        self._metrics.received(wire_bytes)
        return wire_bytes

    async def close(self) -> None:
        """End all connections."""
        for peer in self._peers.values():
            await peer.close()
        await self._http.close()

    async def _receive_into(self, pages: tuple[int, ...], room: int, bootstrap: Bootstrap, *, end: float) -> int:
        sources = await self._sources(bootstrap, seconds=_left(end))
        told: list[Peer] = []
        try:
            for dummy in sources.dummies:
                told.append(await self._peer(bootstrap, dummy, seconds=_left(end)))
                await told[-1].announce(TransferInfo(room, [], sources.required_destinations, is_dummy=True))
            told.append(await self._peer(bootstrap, sources.real, seconds=_left(end)))
            info = TransferInfo(room, list(pages), sources.required_destinations, is_dummy=False)
            done = await _last_word(told[-1], info, seconds=_left(end))
        except BaseException:
            for peer in told:  # dummies too: their rooms would stay at the barrier for as long as the connection
                await peer.abort(room)
            raise
        self._factor.resolve([TransferInfo(room, [], sources.required_destinations, is_dummy=False)])
        if self._factor.value is not None:
            self._metrics.resolves(self._factor.value)
        return await self._checked(pages, done.checksums)

    async def _checked(self, pages: Sequence[int], sent: list[list[int]]) -> int:
        arrived = await asyncio.to_thread(self._pool.checksums, pages)
        wrong = _different(arrived, sent)
        if wrong:
            self._metrics.corrupt(wrong)
            total = len(pages) * self._geometry.layers
            raise TransferError(Reason.CORRUPT_PAGE, f"{wrong} of {total} pages are not what was sent")
        return len(pages) * self._geometry.page_bytes

    async def _sources(self, bootstrap: Bootstrap, *, seconds: float) -> Sources:
        if bootstrap not in self._known:
            topology = await bootstrap.topology(self._http, seconds=seconds, clock=time.monotonic)
            if len(self._known) >= MAX_BOOTSTRAPS:
                self._known.pop(next(iter(self._known)))
            self._known[bootstrap] = self._resolve(topology)
        return self._known[bootstrap]

    def _resolve(self, topology: dict[str, Any]) -> Sources:
        ours = (self._geometry.page_size, self._geometry.dtype)
        theirs = (topology.get("page_size"), topology.get("kv_cache_dtype"))
        if ours != theirs:
            raise TransferError(Reason.PEER_REFUSED, f"page size and dtype: decode has {ours}, prefill {theirs}")
        try:
            width, context = int(topology["attn_tp_size"]), int(topology["attn_cp_size"])
            return sources_of(self._rank, prefill=Group(tensor=width * context, context=context), decode=self._group)
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as wrong:
            raise TransferError(Reason.PEER_REFUSED, f"prefill's topology {topology}: {wrong}") from None

    async def _peer(self, bootstrap: Bootstrap, rank: int, *, seconds: float) -> Peer:
        host, port = await bootstrap.address(self._http, rank, seconds=seconds, clock=time.monotonic)
        async with self._connecting:
            peer = self._peers.get((host, port))
            if peer is None or not peer.is_open:
                peer = await Peer.connect(host, port, self._registration)
                self._peers[host, port] = peer
        return peer


async def _last_word(peer: Peer, info: TransferInfo, *, seconds: float) -> Done:
    """Speak up for a room and wait for prefill's last word on it; who waits must be there before the word can be."""
    waiting = asyncio.create_task(peer.done(info.room, seconds=seconds))
    try:
        await peer.announce(info)
        return await waiting
    finally:
        waiting.cancel()


def _left(end: float) -> float:
    return max(0.0, end - time.monotonic())


def _different(arrived: list[list[int]], sent: list[list[int]]) -> int:
    """Pages whose checksums differ; a list of another shape means that all do."""
    if [len(layer) for layer in arrived] != [len(layer) for layer in sent]:
        return sum(map(len, arrived))
    return sum(a != b for ours, theirs in zip(arrived, sent, strict=True) for a, b in zip(ours, theirs, strict=True))
