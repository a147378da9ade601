"""A decode rank's connection to one prefill rank, and the rooms that wait for its word."""

import asyncio
import contextlib
import logging

from pdworker.bootstrap import stream
from pdworker.bootstrap.messages import Abort, Done, Failed, MalformedError, Registration, TransferInfo
from pdworker.reasons import Reason, TransferError

LOG = logging.getLogger(__name__)
CONNECT_SECONDS = 5.0  # one handshake inside a cluster; a dropped SYN is retried after one and three


class Peer:
    """One prefill rank that this rank has registered with."""

    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Done]] = {}
        self._listening = asyncio.create_task(self._listen(reader))

    @classmethod
    async def connect(cls, host: str, port: int, registration: Registration) -> "Peer":
        """Connect and register. Raises TransferError."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(host, port, limit=1 << 20)
                await stream.write(writer, registration)
        except (OSError, TimeoutError) as failed:
            raise TransferError(Reason.PEER_LOST, f"prefill rank at {host}:{port}: {failed!r}") from None
        return cls(f"{host}:{port}", reader, writer)

    @property
    def is_open(self) -> bool:
        """Whether its connection still stands."""
        return not self._listening.done()

    async def announce(self, info: TransferInfo) -> None:
        """Speak up for a room. Raises TransferError."""
        try:
            await stream.write(self._writer, info)
        except OSError as failed:
            raise TransferError(Reason.PEER_LOST, f"prefill rank at {self.name}: {failed!r}") from None

    async def done(self, room: int, *, seconds: float) -> Done:
        """Prefill's last word on a room. Raises TransferError: refused, lost, or not in time."""
        waiting: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self._waiting[room] = waiting
        if not self.is_open:
            self._lose("the connection is closed")
        try:
            async with asyncio.timeout(seconds):
                return await waiting
        except TimeoutError:
            raise TransferError(Reason.WAITING_TIMEOUT, f"no word from {self.name} in {seconds:.0f} s") from None
        finally:
            self._waiting.pop(room, None)

    async def abort(self, room: int) -> None:
        """Say that nobody waits for a room any more; a peer that is gone needs no telling."""
        with contextlib.suppress(OSError):
            await stream.write(self._writer, Abort(room))

    async def close(self) -> None:
        """End the connection."""
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening
        self._writer.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        why = "it closed the connection"
        try:
            while (message := await stream.read(reader)) is not None:
                self._hear(message)
        except (MalformedError, OSError) as wrong:
            why = repr(wrong)
            LOG.warning("prefill rank at %s: %s", self.name, wrong)
        finally:
            self._lose(why)
            self._writer.close()

    def _hear(self, message: object) -> None:
        if not isinstance(message, Done | Failed):
            raise MalformedError(f"prefill sent a {type(message).__name__}")
        waiting = self._waiting.get(message.room)
        if waiting is None or waiting.done():  # given up already
            return
        if isinstance(message, Done):
            waiting.set_result(message)
        else:
            reason = Reason(message.reason) if message.reason in tuple(Reason) else Reason.PEER_REFUSED
            waiting.set_exception(TransferError(reason, f"prefill: {message.detail}"))

    def _lose(self, why: str) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(TransferError(Reason.PEER_LOST, f"prefill rank at {self.name}: {why}"))
