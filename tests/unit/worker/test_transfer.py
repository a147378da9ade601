"""Sender and receivers over a real socket, with an engine that copies memory: barrier, data, checksums, failures."""

import asyncio
import contextlib
import ctypes
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pdworker.bootstrap.client import Bootstrap
from pdworker.bootstrap.messages import Abort
from pdworker.config import Geometry
from pdworker.kv.gate import PageGate
from pdworker.kv.pool import Pool
from pdworker.metrics import Metrics
from pdworker.reasons import Reason, TransferError
from pdworker.topology import Group, Sources
from pdworker.transfer.accounting import Accounting, Items
from pdworker.transfer.backends.base import EngineError, Write
from pdworker.transfer.factor import ReplicaFactor
from pdworker.transfer.peer import Peer
from pdworker.transfer.receiver import Accounts, Receiver, _different
from pdworker.transfer.sender import Sender

GEOMETRY = Geometry(layers=2, width=24, dtype="bfloat16", page_size=4)
PAGES = 8
SERVER = Bootstrap("127.0.0.1", 1)


class Copying:
    """An engine within one process: a write is a copy, spoilt or failed on demand."""

    session = "10.0.0.5:15001"

    def __init__(self, *, fails: bool = False, spoils: bool = False) -> None:
        self.written: list[Write] = []
        self._fails, self._spoils = fails, spoils

    def register(self, address: int, length: int) -> None:
        """Any memory will do."""

    def write(self, writes: Sequence[Write]) -> float:
        if self._fails:
            raise EngineError("the link is down")
        for write in writes:
            ctypes.memmove(write.target, write.source, write.length)
        if self._spoils:
            ctypes.memset(writes[0].target, 0xA5, 8)
        self.written = list(writes)
        return 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    sender: Sender
    receivers: list[Receiver]
    sent: Metrics
    received: list[Metrics]
    engine: Copying

    async def serve(self, room: int, tokens: int, *, seconds: float = 5.0) -> list[object]:
        """Both roles at once, as a router asks them: prefill's outcome first, then each decode rank's."""
        asks = [receiver.receive(room, tokens, SERVER, seconds=seconds) for receiver in self.receivers]
        prefill = self.sender.prefill(room, tokens, barrier_seconds=seconds)
        return list(await asyncio.gather(prefill, *asks, return_exceptions=True))


@contextlib.asynccontextmanager
async def a_pair(monkeypatch: pytest.MonkeyPatch, *, speak: int = 2, engine: Copying) -> AsyncIterator[Pair]:
    """One sender, and `speak` of the two decode ranks that it must hear of."""
    sent = Metrics(role="prefill", tp_rank=0, cp_rank=0)
    factor = ReplicaFactor(mla=True, warn=lambda _: None)
    sender = Sender(
        geometry=GEOMETRY,
        pool=Pool(GEOMETRY, pages=PAGES),
        gate=PageGate(PAGES),
        engine=engine,
        accounting=Accounting(Items(GEOMETRY.page_bytes), factor),
        metrics=sent,
    )
    server = await asyncio.start_server(sender.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def known(*_: object, **__: object) -> Sources:
        return Sources(real=0, dummies=(), required_destinations=2)

    async def address(*_: object, **__: object) -> tuple[str, int]:
        return "127.0.0.1", port

    monkeypatch.setattr(Receiver, "_sources", known)
    monkeypatch.setattr(Bootstrap, "address", address)
    received = [Metrics(role="decode", tp_rank=rank, cp_rank=0) for rank in range(speak)]
    receivers = [
        Receiver(
            rank=rank,
            group=Group(2),
            pool=Pool(GEOMETRY, pages=PAGES),
            gate=PageGate(PAGES),
            session=f"10.0.1.{rank}:15001",
            accounts=Accounts(ReplicaFactor(mla=True, warn=lambda _: None), metrics),
        )
        for rank, metrics in enumerate(received)
    ]
    try:
        yield Pair(sender, receivers, sent, received, engine)
    finally:
        for receiver in receivers:
            await receiver.close()
        sender.close()
        server.close()
        await server.wait_closed()


def value(metrics: Metrics, name: str) -> float | None:
    """The one sample that begins with a text; None when there is none."""
    found = [line for line in metrics.page().splitlines() if line.startswith(name)]
    return float(found[0].rsplit(" ", 1)[1]) if found else None


def failures(metrics: Metrics, reason: Reason) -> float:
    lines = [line for line in metrics.page().splitlines() if f'reason="{reason}"' in line]
    return float(lines[0].rsplit(" ", 1)[1])


async def test_every_receiver_gets_the_whole_copy_and_the_figures_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying()) as pair:
        metric, *arrived = await pair.serve(7, tokens=10)
        # Ten tokens are three pages of 4 x 24 x 2 bytes in two layers.
        assert arrived == [1152, 1152]
        assert value(pair.sent, "pd_kv_logical_bytes_total") == 1152
        assert value(pair.sent, "pd_kv_reported_bytes_total") == 2304
        assert [value(each, "pd_kv_wire_bytes_total") for each in pair.received] == [1152, 1152]
        assert value(pair.sent, "pd_resolved_replica_factor") == 2
        assert value(pair.sent, "pd_kv_transfer_busy_seconds_total") == 0.5
        assert metric is not None


async def test_writes_are_one_run_a_layer_and_interleave_the_destinations(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying()) as pair:
        await pair.serve(7, tokens=16)
        shape = [(write.session, write.length) for write in pair.engine.written]
        assert shape == [("10.0.1.0:15001", 768), ("10.0.1.1:15001", 768)] * 2


async def test_before_a_barrier_no_factor_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying()) as pair:
        assert value(pair.sent, "pd_resolved_replica_factor") is None


async def test_a_missing_destination_is_a_failed_request_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, speak=1, engine=Copying()) as pair:
        sent, received = await pair.serve(7, tokens=4, seconds=0.2)
        assert isinstance(sent, TransferError)
        assert sent.reason in {Reason.BOOTSTRAP_TIMEOUT, Reason.PEER_LOST}
        assert isinstance(received, TransferError)
        assert failures(pair.sent, sent.reason) == 1
        assert value(pair.sent, "pd_resolved_replica_factor") is None
        assert pair.engine.written == []


async def test_an_engine_failure_reaches_every_receiver_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying(fails=True)) as pair:
        outcomes = await pair.serve(7, tokens=4)
        assert [outcome.reason for outcome in outcomes if isinstance(outcome, TransferError)] == [
            Reason.ENGINE_ERROR
        ] * 3
        assert value(pair.sent, "pd_kv_transfers_total") == 0
        assert [value(each, "pd_kv_wire_bytes_total") for each in pair.received] == [0, 0]


async def test_a_spoilt_page_fails_the_request_where_it_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying(spoils=True)) as pair:
        _, first, second = await pair.serve(7, tokens=8)
        assert isinstance(first, TransferError)
        assert first.reason is Reason.CORRUPT_PAGE
        assert "1 of 4 pages" in first.detail
        assert second == 768
        assert [value(each, "pd_kv_pages_corrupt_total") for each in pair.received] == [1, 0]
        assert [value(each, "pd_kv_wire_bytes_total") for each in pair.received] == [0, 768]


async def test_pages_of_a_failed_request_are_not_given_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying(spoils=True)) as pair:
        await pair.serve(7, tokens=4)
        await pair.serve(8, tokens=4)
        target = pair.engine.written[0].target - pair.receivers[0]._pool.addresses()[0]
        assert target == GEOMETRY.item_bytes  # page 1: page 0 is quarantined


async def test_requests_one_after_the_other_reuse_pages_that_ended_well(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying()) as pair:
        for room in range(5):
            _, *arrived = await pair.serve(room, tokens=32)
            assert arrived == [3072, 3072]


async def test_nothing_is_written_to_ranks_that_gave_up_while_the_sender_waited_for_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_pair(monkeypatch, engine=Copying()) as pair:
        held = await pair.sender._gate.take(PAGES, seconds=1)
        prefill = asyncio.create_task(pair.sender.prefill(7, 4, barrier_seconds=5))
        gave_up = await asyncio.gather(
            *(receiver.receive(7, 4, SERVER, seconds=0.2) for receiver in pair.receivers), return_exceptions=True
        )
        assert [each.reason for each in gave_up if isinstance(each, TransferError)] == [Reason.WAITING_TIMEOUT] * 2
        async with asyncio.timeout(5):
            while pair.sender._rooms:  # noqa: ASYNC110 -- both have to be heard first; the room has no event for it
                await asyncio.sleep(0)
        pair.sender._gate.give_back(held)
        with pytest.raises(TransferError, match="no longer waits"):
            await prefill
        assert pair.engine.written == []
        assert value(pair.sent, "pd_kv_transfers_total") == 0


async def test_who_speaks_after_prefill_failed_hears_of_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair(monkeypatch, engine=Copying()) as pair:
        with pytest.raises(TransferError):
            await pair.sender.prefill(7, 4, barrier_seconds=0)
        async with asyncio.timeout(10):  # far below the deadline that they would wait for otherwise
            late = await asyncio.gather(
                *(receiver.receive(7, 4, SERVER, seconds=300) for receiver in pair.receivers), return_exceptions=True
            )
        assert [each.reason for each in late if isinstance(each, TransferError)] == [Reason.BOOTSTRAP_TIMEOUT] * 2


async def test_the_waits_of_a_request_share_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    async def slow(*_: object, seconds: float, **__: object) -> Sources:
        given.append(seconds)
        await asyncio.sleep(0.2)
        return Sources(real=0, dummies=(), required_destinations=2)

    async with a_pair(monkeypatch, speak=1, engine=Copying()) as pair:
        address = Bootstrap.address

        async def timed(*arguments: Any, seconds: float, **named: Any) -> tuple[str, int]:  # noqa: ANN401 -- passed on
            given.append(seconds)
            return await address(*arguments, seconds=seconds, **named)

        monkeypatch.setattr(Receiver, "_sources", slow)
        monkeypatch.setattr(Bootstrap, "address", timed)
        with pytest.raises(TransferError) as failed:
            await pair.receivers[0].receive(7, 4, SERVER, seconds=0.5)
        assert failed.value.reason is Reason.WAITING_TIMEOUT
        assert given[0] > 0.4
        assert given[1] <= 0.3


async def test_dummies_hear_that_a_room_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def narrower(*_: object, **__: object) -> Sources:
        return Sources(real=0, dummies=(1,), required_destinations=2)

    heard: list[Abort] = []
    abort = Peer.abort

    async def noted(peer: Peer, room: int) -> None:
        heard.append(Abort(room))
        await abort(peer, room)

    async with a_pair(monkeypatch, speak=1, engine=Copying()) as pair:
        monkeypatch.setattr(Receiver, "_sources", narrower)
        monkeypatch.setattr(Peer, "abort", noted)
        with pytest.raises(TransferError):
            await pair.receivers[0].receive(7, 4, SERVER, seconds=0.2)
        assert heard == [Abort(7), Abort(7)]  # the dummy and the real one


@pytest.mark.parametrize(
    ("arrived", "sent", "wrong"),
    [
        pytest.param([[1, 2], [3, 4]], [[1, 2], [3, 4]], 0, id="all as sent"),
        pytest.param([[1, 2], [3, 4]], [[1, 9], [3, 4]], 1, id="one page"),
        pytest.param([[1, 2], [3, 4]], [[1, 2]], 4, id="a layer missing: nothing can be trusted"),
        pytest.param([[1, 2], [3, 4]], [[1], [3, 4]], 4, id="a page missing: nothing can be trusted"),
    ],
)
def test_checksums_are_compared_page_by_page(arrived: list[list[int]], sent: list[list[int]], wrong: int) -> None:
    assert _different(arrived, sent) == wrong
