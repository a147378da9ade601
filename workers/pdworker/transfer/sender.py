"""The sending side of one prefill rank: the barrier of each room, then one write of its pages to every destination."""

import asyncio
import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pdworker.bootstrap import stream
from pdworker.bootstrap.messages import (
    MAX_FRAME_BYTES,
    Abort,
    Done,
    Failed,
    MalformedError,
    Message,
    Registration,
    TransferInfo,
)
from pdworker.config import Geometry
from pdworker.kv.gate import PageGate
from pdworker.kv.pool import Pool
from pdworker.metrics import Metrics
from pdworker.reasons import Reason, TransferError
from pdworker.transfer.accounting import Accounting, TransferMetric
from pdworker.transfer.backends.base import Engine, EngineError
from pdworker.transfer.factor import is_complete
from pdworker.transfer.plan import Target, writes

LOG = logging.getLogger(__name__)
MAX_ROOMS = 4096  # rooms at the barrier; a router's queue is far shorter, so more is a peer gone wrong
TELL_SECONDS = 10.0  # for a peer that has stopped reading: the others of the room wait behind it
MAX_FAILED = 1024  # failed rooms remembered for a decode rank that speaks up late
CHECKSUM_CHARACTERS = 11  # ten digits of a CRC-32 and its comma, in the last word to each destination


@dataclass(frozen=True, slots=True)
class Destination:
    """One decode rank that spoke up for a room."""

    registration: Registration
    info: TransferInfo
    writer: asyncio.StreamWriter

    @property
    def required_dst_info_num(self) -> int | None:
        """As its TransferInfo says."""
        return self.info.required_dst_info_num


@dataclass(slots=True)
class Room:
    """One request at the barrier."""

    destinations: dict[int, Destination] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    lost: str = ""  # why it can't complete any more


class Sender:
    """Rooms, pool, engine and accounting of one prefill rank."""

    def __init__(
        self,
        *,
        geometry: Geometry,
        pool: Pool,
        gate: PageGate,
        engine: Engine,
        accounting: Accounting,
        metrics: Metrics,
    ) -> None:
        self._geometry = geometry
        self._pool = pool
        self._gate = gate
        self._engine = engine
        self._accounting = accounting
        self._metrics = metrics
        self._rooms: dict[int, Room] = {}
        self._failed: dict[int, Failed] = {}
        # One thread: it interleaves all destinations, and a second would only fight for the engine's I/O thread.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sender")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One decode rank's connection, from its registration to its end."""
        try:
            registration = self._checked(await stream.read(reader))
            while (message := await stream.read(reader)) is not None:
                await self._hear(message, registration, writer)
        except (MalformedError, OSError) as wrong:
            LOG.warning("connection of a decode rank ended: %s", wrong)
        finally:
            self._forget(writer)
            writer.close()

    async def prefill(self, room: int, prompt_tokens: int, *, barrier_seconds: float) -> TransferMetric | None:
        """Serve one request: wait for its destinations, fill its pages, send them.

        None when this rank is a dummy for the room. Raises TransferError, counted, after telling every destination.
        """
        entry = self._rooms.setdefault(room, Room())
        try:
            await _barrier(entry, seconds=barrier_seconds)
            return await self._send(room, entry, pages=self._geometry.pages(prompt_tokens))
        except TransferError as failed:
            self._metrics.failed(failed.reason)
            await self._fail(entry, Failed(room, failed.reason, failed.detail[:500]))
            raise
        finally:
            self._rooms.pop(room, None)

    async def _fail(self, entry: Room, why: Failed) -> None:
        if len(self._failed) >= MAX_FAILED:
            self._failed.pop(next(iter(self._failed)))
        self._failed[why.room] = why
        await _tell(entry.destinations.values(), why)

    def close(self) -> None:
        """End the sending thread; what it is doing is given up with the process."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _send(self, room: int, entry: Room, *, pages: int) -> TransferMetric | None:
        real = [entry.destinations[rank] for rank in sorted(entry.destinations)]
        real = [destination for destination in real if not destination.info.is_dummy]
        if not real:
            return None
        for destination in real:
            _check_pages(destination, pages)
        _check_last_word(pages, self._geometry.layers)
        self._accounting.factor.resolve([destination.info for destination in real])
        if self._accounting.factor.value is not None and not self._accounting.legacy:
            self._metrics.resolves(self._accounting.factor.value)
        own = await self._gate.take(pages, seconds=60)
        loop = asyncio.get_running_loop()
        try:
            _check_all_there(entry)
            checksums, seconds = await loop.run_in_executor(self._thread, self._move, room, entry, own, real)
        except EngineError as failed:
            self._gate.quarantine(own)
            raise TransferError(Reason.ENGINE_ERROR, str(failed)) from None
        except BaseException:  # whatever else it was, these pages may still be read from
            self._gate.quarantine(own)
            raise
        self._gate.give_back(own)
        metric = self._accounting.finished(kv_items=pages, seconds=seconds)
        self._metrics.transferred(metric)
        await _tell(real, Done(room, checksums))
        return metric

    def _move(
        self, room: int, entry: Room, own: tuple[int, ...], to: list[Destination]
    ) -> tuple[list[list[int]], float]:
        """In the sending thread: fill, sum up, write."""
        _check_all_there(entry)  # again: other rooms were before it in this thread
        self._pool.fill(room, own)
        checksums = self._pool.checksums(own)
        targets = [Target(each.registration.session, each.registration.layer_addresses, each.info.pages) for each in to]
        plan = writes(layers=self._pool.addresses(), item_bytes=self._geometry.item_bytes, pages=own, to=targets)
        return checksums, self._engine.write(plan)

    def _checked(self, other: object) -> Registration:
        if not isinstance(other, Registration):
            raise MalformedError(f"a connection must begin with a Registration, not {type(other).__name__}")
        ours = (self._geometry.page_size, self._geometry.dtype, self._geometry.item_bytes, self._geometry.layers)
        theirs = (other.page_size, other.kv_cache_dtype, other.item_bytes, len(other.layer_addresses))
        if ours != theirs:
            raise MalformedError(f"page size, dtype, item bytes, layers: prefill has {ours}, decode {theirs}")
        return other

    async def _hear(self, message: Message, registration: Registration, writer: asyncio.StreamWriter) -> None:
        match message:
            case TransferInfo() if message.room in self._failed:  # it comes too late, and would wait for nothing
                await _tell([Destination(registration, message, writer)], self._failed[message.room])
            case TransferInfo():
                self._join(Destination(registration, message, writer))
            case Abort():
                self._leave(message.room, registration.decode_rank, why="no longer waits for the room")
            case _:
                raise MalformedError(f"only TransferInfo and Abort may follow, not {type(message).__name__}")

    def _join(self, destination: Destination) -> None:
        room = destination.info.room
        if room not in self._rooms and len(self._rooms) >= MAX_ROOMS:
            raise MalformedError(f"{MAX_ROOMS} rooms wait at the barrier already")
        entry = self._rooms.setdefault(room, Room())
        entry.destinations[destination.registration.decode_rank] = destination
        entry.changed.set()

    def _leave(self, room: int, rank: int, *, why: str) -> None:
        entry = self._rooms.get(room)
        if entry is None or entry.destinations.pop(rank, None) is None:
            return
        entry.lost = f"decode rank {rank} {why}"
        entry.changed.set()
        if not entry.destinations:
            self._rooms.pop(room, None)

    def _forget(self, writer: asyncio.StreamWriter) -> None:
        for room, entry in list(self._rooms.items()):
            for rank, destination in list(entry.destinations.items()):
                if destination.writer is writer:
                    self._leave(room, rank, why="closed its connection")


async def _barrier(entry: Room, *, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not is_complete(entry.destinations):
                if entry.lost:
                    raise TransferError(Reason.PEER_LOST, entry.lost)
                entry.changed.clear()
                await entry.changed.wait()
    except TimeoutError:
        there = sorted(entry.destinations)
        needed = next((each.required_dst_info_num for each in entry.destinations.values()), "an unknown number")
        detail = f"after {seconds:.0f} s decode ranks {there} have spoken, {needed} must"
        raise TransferError(Reason.BOOTSTRAP_TIMEOUT, detail) from None


def _check_all_there(entry: Room) -> None:
    """A rank that gave up gives its pages to another request soon: nothing may be written to them any more."""
    if entry.lost:
        raise TransferError(Reason.PEER_LOST, entry.lost)


def _check_last_word(pages: int, layers: int) -> None:
    needed = pages * layers * CHECKSUM_CHARACTERS + 1024  # the rest of the message is a hundred characters
    if needed > MAX_FRAME_BYTES:
        detail = f"checksums of {pages} pages in {layers} layers take {needed} bytes, a message {MAX_FRAME_BYTES}"
        raise TransferError(Reason.MALFORMED_MESSAGE, detail)


def _check_pages(destination: Destination, pages: int) -> None:
    given, pool = destination.info.pages, destination.registration.pool_pages
    if len(given) != pages or len(set(given)) != pages or not all(0 <= page < pool for page in given):
        rank = destination.registration.decode_rank
        raise TransferError(Reason.PEER_REFUSED, f"decode rank {rank} named {len(given)} pages, the prompt has {pages}")


async def _tell(destinations: Iterable[Destination], message: Done | Failed) -> None:
    for destination in list(destinations):
        try:
            async with asyncio.timeout(TELL_SECONDS):
                await stream.write(destination.writer, message)
        except OSError as gone:  # it learns of it by the closed connection; a timeout is an OSError too
            LOG.warning("decode rank %d is gone: %s", destination.registration.decode_rank, gone)
