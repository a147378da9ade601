"""Rooms of a sender, seen from a decode rank's end of the connection: who is told what, and when nothing moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from pdworker.bootstrap import stream
from pdworker.bootstrap.messages import Abort, Done, Failed, Message, Registration, TransferInfo, encode
from pdworker.config import Geometry
from pdworker.kv.gate import PageGate
from pdworker.kv.pool import Pool
from pdworker.metrics import Metrics
from pdworker.reasons import Reason, TransferError
from pdworker.transfer.accounting import Accounting, Items, TransferMetric
from pdworker.transfer.backends.base import Write
from pdworker.transfer.factor import ReplicaFactor
from pdworker.transfer.sender import Sender

GEOMETRY = Geometry(layers=2, width=8, dtype="bfloat16", page_size=4)
PAGES = 8
REGISTRATION = Registration(
    decode_rank=0,
    attention_tp_size=2,
    session="10.0.1.0:15000",
    layer_addresses=[0, 4096],
    item_bytes=GEOMETRY.item_bytes,
    page_size=4,
    kv_cache_dtype="bfloat16",
    pool_pages=PAGES,
)


class FakeEngine:
    """Remembers what it was asked to write, and moves nothing."""

    session = "10.0.0.1:15000"

    def __init__(self) -> None:
        self.written: list[Write] = []

    def register(self, address: int, length: int) -> None:
        """Nothing to do."""

    def write(self, writes: Sequence[Write]) -> float:
        self.written += writes
        return 0.5


@dataclass
class Decode:
    """A decode rank's end of its connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def says(self, message: Message) -> None:
        await stream.write(self.writer, message)

    async def hears(self) -> Message | None:
        async with asyncio.timeout(5):
            return await stream.read(self.reader)


@dataclass
class Bench:
    """A sender, and decode ranks that a test plays."""

    sender: Sender
    engine: FakeEngine
    gate: PageGate
    connect: Callable[[int], contextlib.AbstractAsyncContextManager[Decode]]

    def prefill(self, room: int, *, tokens: int = 8, seconds: float = 5) -> asyncio.Task[TransferMetric | None]:
        return asyncio.create_task(self.sender.prefill(room, tokens, barrier_seconds=seconds))

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not reached():  # noqa: ASYNC110 -- what the sender knows isn't an event
                await asyncio.sleep(0.001)

    def knows(self, room: int) -> int:
        """How many decode ranks have spoken for a room."""
        entry = self.sender._rooms.get(room)
        return len(entry.destinations) if entry is not None else 0


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    engine, gate = FakeEngine(), PageGate(PAGES)
    sender = Sender(
        geometry=GEOMETRY,
        pool=Pool(GEOMETRY, pages=PAGES),
        gate=gate,
        engine=engine,
        accounting=Accounting(Items(GEOMETRY.page_bytes), ReplicaFactor(mla=True, warn=lambda _: None)),
        metrics=Metrics(role="prefill", tp_rank=0, cp_rank=0),
    )
    server = await asyncio.start_server(sender.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    @contextlib.asynccontextmanager
    async def connect(rank: int) -> AsyncIterator[Decode]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        decode = Decode(reader, writer)
        await decode.says(replace(REGISTRATION, decode_rank=rank, session=f"10.0.1.{rank}:15000"))
        try:
            yield decode
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    yield Bench(sender, engine, gate, connect)
    sender.close()
    server.close()
    await server.wait_closed()


def info(room: int, *pages: int, count: int | None = 2, dummy: bool = False) -> TransferInfo:
    return TransferInfo(room, list(pages), count, is_dummy=dummy)


async def failure(task: asyncio.Task[TransferMetric | None]) -> TransferError:
    with pytest.raises(TransferError) as failed:
        await task
    return failed.value


async def test_nothing_is_sent_before_the_last_destination_has_spoken(bench: Bench) -> None:
    async with bench.connect(0) as first, bench.connect(1) as second:
        sending = bench.prefill(7)
        await first.says(info(7, 0, 1))
        await bench.until(lambda: bench.knows(7) == 1)
        assert bench.engine.written == []
        await second.says(info(7, 4, 5))
        metric = await sending
        assert metric == TransferMetric(logical_bytes=256, reported_bytes=512, seconds=0.5)
        done = [await first.hears(), await second.hears()]
        assert done[0] == done[1]
        assert isinstance(done[0], Done)
        assert [write.session for write in bench.engine.written] == ["10.0.1.0:15000", "10.0.1.1:15000"] * 2


async def test_decode_may_speak_before_prefill_is_asked(bench: Bench) -> None:
    async with bench.connect(0) as decode:
        await decode.says(info(7, 0, 1, count=1))
        await bench.until(lambda: bench.knows(7) == 1)
        metric = await bench.prefill(7)
        assert metric is not None
        assert metric.reported_bytes == 256


async def test_a_dummy_sends_nothing_and_counts_nothing(bench: Bench) -> None:
    async with bench.connect(0) as decode:
        sending = bench.prefill(7)
        await decode.says(info(7, count=1, dummy=True))
        assert await sending is None
        assert bench.engine.written == []
        assert bench.sender._accounting.factor.value is None


async def test_a_destination_that_gives_up_at_the_barrier_fails_the_room_for_the_other(bench: Bench) -> None:
    async with bench.connect(0) as first, bench.connect(1) as second:
        sending = bench.prefill(7)
        await first.says(info(7, 0, 1, count=3))
        await second.says(info(7, 0, 1, count=3))
        await bench.until(lambda: bench.knows(7) == 2)
        await first.says(Abort(7))
        failed = await failure(sending)
        assert (failed.reason, failed.detail) == (Reason.PEER_LOST, "decode rank 0 no longer waits for the room")
        assert await second.hears() == Failed(7, "PeerLost", failed.detail)


async def test_a_destination_that_gives_up_while_pages_are_short_is_never_written_to(bench: Bench) -> None:
    held = await bench.gate.take(PAGES, seconds=1)
    async with bench.connect(0) as first, bench.connect(1) as second:
        sending = bench.prefill(7)
        await first.says(info(7, 0, 1))
        await second.says(info(7, 0, 1))
        await bench.until(lambda: bench.sender._accounting.factor.value == 2)  # the barrier is behind it
        await first.says(Abort(7))
        await bench.until(lambda: bench.knows(7) == 1)
        bench.gate.give_back(held)
        assert (await failure(sending)).reason is Reason.PEER_LOST
        assert isinstance(await second.hears(), Failed)
        assert bench.engine.written == []


async def test_a_decode_rank_that_closes_its_connection_fails_its_rooms(bench: Bench) -> None:
    async with bench.connect(1) as second:
        async with bench.connect(0) as first:
            sending = bench.prefill(7)
            await first.says(info(7, 0, 1, count=3))
            await second.says(info(7, 0, 1, count=3))
            await bench.until(lambda: bench.knows(7) == 2)
        failed = await failure(sending)
        assert (failed.reason, failed.detail) == (Reason.PEER_LOST, "decode rank 0 closed its connection")
        assert isinstance(await second.hears(), Failed)


async def test_one_that_speaks_after_the_room_failed_is_told_at_once(bench: Bench) -> None:
    failed = await failure(bench.prefill(7, seconds=0.01))
    assert failed.reason is Reason.BOOTSTRAP_TIMEOUT
    async with bench.connect(0) as late:
        await late.says(info(7, 0, 1))
        assert await late.hears() == Failed(7, "BootstrapTimeout", failed.detail)
        assert bench.knows(7) == 0


async def test_a_barrier_that_does_not_open_says_who_spoke_and_how_many_must(bench: Bench) -> None:
    async with bench.connect(3) as decode:
        await decode.says(info(7, 0, 1, count=4))
        await bench.until(lambda: bench.knows(7) == 1)
        failed = await failure(bench.prefill(7, seconds=0.01))
        assert failed.detail == "after 0 s decode ranks [3] have spoken, 4 must"
        assert isinstance(await decode.hears(), Failed)


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param([0], id="too few"),
        pytest.param([0, 1, 2], id="too many"),
        pytest.param([1, 1], id="one twice"),
        pytest.param([7, 8], id="beyond the pool"),
        pytest.param([-1, 0], id="before the pool"),
    ],
)
async def test_pages_that_cannot_be_the_prompts_are_refused_and_nothing_is_written(
    bench: Bench, pages: list[int]
) -> None:
    async with bench.connect(0) as decode:
        await decode.says(info(7, *pages, count=1))
        assert (await failure(bench.prefill(7))).reason is Reason.PEER_REFUSED
        assert isinstance(await decode.hears(), Failed)
        assert bench.engine.written == []


async def test_a_last_word_longer_than_a_message_is_refused_before_anything_moves(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pdworker.transfer.sender.MAX_FRAME_BYTES", 1067)
    async with bench.connect(0) as decode:
        await decode.says(info(7, 0, 1, count=1))
        failed = await failure(bench.prefill(7))
        assert failed.detail == "checksums of 2 pages in 2 layers take 1068 bytes, a message 1067"
        assert await decode.hears() == Failed(7, "MalformedMessage", failed.detail)
        assert bench.engine.written == []


@pytest.mark.parametrize(
    "begins_with",
    [
        pytest.param(info(7, 0), id="no registration first"),
        pytest.param(replace(REGISTRATION, page_size=16), id="another page size"),
        pytest.param(replace(REGISTRATION, kv_cache_dtype="fp8_e4m3"), id="another dtype"),
        pytest.param(replace(REGISTRATION, layer_addresses=[0]), id="another number of layers"),
        pytest.param(replace(REGISTRATION, item_bytes=1), id="another width"),
    ],
)
async def test_a_connection_that_does_not_fit_is_closed(bench: Bench, begins_with: Message) -> None:
    reader, writer = asyncio.StreamReader(), FakeWriter()
    reader.feed_data(encode(begins_with))
    await bench.sender.serve(reader, writer)  # type: ignore[arg-type]
    assert writer.closed


class FakeWriter:
    """The writing end of a connection that nobody reads."""

    closed = False

    def close(self) -> None:
        self.closed = True


async def test_words_that_only_prefill_may_say_end_the_connection(bench: Bench) -> None:
    async with bench.connect(0) as decode:
        await decode.says(Done(7, []))
        assert await decode.hears() is None
