"""Mooncake's transfer engine, thin: submit every write, poll with a short sleep, stop at the first failure."""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

from mooncake.engine import TransferEngine

from pdworker.transfer.backends.base import EngineError, Write

POLL_SECONDS = 0.0003  # the engine's own waiting calls spin, and take a core from its single TCP thread
MAX_IN_FLIGHT = 2048  # writes to one peer: beyond that the engine rejects them with its default queue
START_TRIES = 8  # ports of a predecessor stay in TIME_WAIT for 60 s; the range may be full of them
START_PAUSE_SECONDS = 1.0
DRAIN_SECONDS = 12.0  # the progress timeout is 3 s and the transfer timeout 10: later, nothing of ours moves
DONE, RUNNING = 1, 0


class MooncakeEngine:
    """One engine, listening inside MC_MIN_RPC_PORT to MC_MAX_RPC_PORT."""

    def __init__(self, host: str, *, protocol: str, devices: str = "") -> None:
        if protocol == "tcp":
            os.environ["MC_FORCE_TCP"] = "1"  # else it takes RDMA where it finds a device
        self.engine = _started(host, protocol, devices)
        self.session = f"[{host}]:{self._port()}" if ":" in host else f"{host}:{self._port()}"

    def register(self, address: int, length: int) -> None:
        """Register memory. Raises EngineError."""
        if (code := self.engine.register_memory(address, length)) != 0:
            raise EngineError(f"{length} bytes could not be registered: code {code}")

    def write(self, writes: Sequence[Write]) -> float:
        """Write to all peers from this one thread, interleaved as the sequence is.

        Returns the seconds from first submit to last completion. After a failure it submits nothing more and waits,
        bounded, for what is in flight: only then may the source be touched. Raises EngineError.
        """
        start = time.perf_counter()
        flight = _Flight(self.engine.transfer_check_status)
        for write in writes:
            flight.make_room(write.session)
            batch = self.engine.transfer_submit_write(write.session, write.source, write.target, write.length)
            if batch == 0:
                flight.drain()
                raise EngineError(f"a write of {write.length} bytes to {write.session} was refused")
            flight.add(write.session, batch)
        flight.finish()
        return time.perf_counter() - start

    def _port(self) -> int:
        return int(self.engine.get_rpc_port())


class _Flight:
    """Writes that were submitted and are not known to have ended."""

    def __init__(self, status: Callable[[int], int]) -> None:
        self._status = status
        self._batches: deque[tuple[str, int]] = deque()
        self._by_peer: Counter[str] = Counter()

    def add(self, peer: str, batch: int) -> None:
        self._batches.append((peer, batch))
        self._by_peer[peer] += 1

    def make_room(self, peer: str) -> None:
        while self._by_peer[peer] >= MAX_IN_FLIGHT:
            self._end_oldest()

    def finish(self) -> None:
        while self._batches:
            self._end_oldest()

    def drain(self) -> None:
        """Wait, bounded, for all to end, however they end."""
        end = time.perf_counter() + DRAIN_SECONDS
        while self._batches and time.perf_counter() < end:
            _, batch = self._batches[0]
            if self._status(batch) == RUNNING:
                time.sleep(POLL_SECONDS)
            else:
                self._batches.popleft()  # the engine frees an ended batch: its number is never asked about again

    def _end_oldest(self) -> None:
        peer, batch = self._batches[0]
        while (state := self._status(batch)) == RUNNING:
            time.sleep(POLL_SECONDS)
        self._batches.popleft()
        self._by_peer[peer] -= 1
        if state != DONE:
            self.drain()
            raise EngineError(f"a write to {peer} failed with status {state}")


def _started(host: str, protocol: str, devices: str) -> TransferEngine:
    for _ in range(START_TRIES):
        engine = TransferEngine()
        if engine.initialize(host, "P2PHANDSHAKE", protocol, devices) == 0:
            return engine
        time.sleep(START_PAUSE_SECONDS)
    raise EngineError(
        f"the engine did not start on {host} in {START_TRIES} tries: see its log above; a full port range "
        f"(MC_MIN_RPC_PORT to MC_MAX_RPC_PORT) is the usual cause"
    )
