"""Submitting and polling, against an engine of this test."""

import pytest

from pdworker.transfer.backends import mooncake
from pdworker.transfer.backends.base import EngineError, Write
from pdworker.transfer.backends.mooncake import MooncakeEngine


class Fake:
    """Answers as the engine does: 0 running, 1 done, -1 failed; an ended number must not be asked about again."""

    def __init__(self, *, polls: int = 0, refused: int | None = None, failing: int | None = None) -> None:
        self.submitted: list[tuple[str, int, int, int]] = []
        self.ended: set[int] = set()
        self.most_in_flight = 0
        self._polls = polls
        self._left: dict[int, int] = {}
        self._refused, self._failing = refused, failing

    def initialize(self, host: str, metadata: str, protocol: str, device: str) -> int:
        del host, metadata, protocol, device
        return 0

    def get_rpc_port(self) -> int:
        return 15001

    def register_memory(self, address: int, length: int) -> int:
        del address
        return 0 if length else -1

    def transfer_submit_write(self, session: str, source: int, target: int, length: int) -> int:
        if len(self.submitted) == self._refused:
            return 0
        self.submitted.append((session, source, target, length))
        number = len(self.submitted)
        self._left[number] = self._polls
        self.most_in_flight = max(self.most_in_flight, len(self._left))
        return number

    def transfer_check_status(self, batch: int) -> int:
        assert batch not in self.ended, f"batch {batch} was freed"
        if self._left[batch]:
            self._left[batch] -= 1
            return 0
        del self._left[batch]
        self.ended.add(batch)
        return -1 if batch == self._failing else 1


def an_engine(fake: Fake, monkeypatch: pytest.MonkeyPatch, host: str = "10.0.0.5") -> MooncakeEngine:
    monkeypatch.setattr(mooncake, "TransferEngine", lambda: fake)
    monkeypatch.setattr(mooncake, "POLL_SECONDS", 0.0)
    monkeypatch.setenv("MC_FORCE_TCP", "0")
    return MooncakeEngine(host, protocol="tcp")


def some_writes(count: int) -> list[Write]:
    return [Write(f"10.0.1.{at % 4}:15000", at, at, 64) for at in range(count)]


@pytest.mark.parametrize(("host", "session"), [("10.0.0.5", "10.0.0.5:15001"), ("fd00::5", "[fd00::5]:15001")])
def test_peers_know_it_by(host: str, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert an_engine(Fake(), monkeypatch, host).session == session


def test_every_write_is_submitted_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(polls=3)
    an_engine(fake, monkeypatch).write(some_writes(9))
    assert [source for _, source, _, _ in fake.submitted] == list(range(9))
    assert len(fake.ended) == 9


def test_a_peer_never_has_more_than_the_bound_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(polls=2)
    engine = an_engine(fake, monkeypatch)
    monkeypatch.setattr(mooncake, "MAX_IN_FLIGHT", 2)
    engine.write([Write("10.0.1.1:15000", at, at, 64) for at in range(20)])
    assert fake.most_in_flight == 2
    assert len(fake.ended) == 20


def test_a_refused_write_ends_it_once_all_in_flight_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(polls=2, refused=5)
    with pytest.raises(EngineError, match=r"a write of 64 bytes to 10\.0\.1\.1:15000 was refused"):
        an_engine(fake, monkeypatch).write(some_writes(9))
    assert (len(fake.submitted), len(fake.ended)) == (5, 5)


def test_a_failed_write_ends_it_once_all_in_flight_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(polls=1, failing=3)
    with pytest.raises(EngineError, match="failed with status -1"):
        an_engine(fake, monkeypatch).write(some_writes(9))
    assert len(fake.ended) == 9


def test_memory_that_cannot_be_registered_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match="0 bytes could not be registered: code -1"):
        an_engine(Fake(), monkeypatch).register(0, 0)
