"""A TCP proxy that can go deaf: connections stay open and accepted, and nothing comes through any more."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

_CHUNK = 64 << 10


@dataclass(slots=True)
class Proxy:
    """Forwards to one address, byte by byte, until told otherwise."""

    host: str
    port: int
    listening: int = 0
    open_connections: int = 0
    _deaf: set[asyncio.Task[None]] = field(default_factory=set)
    _pipes: set[asyncio.Task[None]] = field(default_factory=set)

    def go_deaf(self) -> int:
        """Every connection of now carries nothing from now on, without ending; new ones work. Returns how many."""
        self._deaf |= self._pipes
        return len(self._deaf)

    async def serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        """Run until stopped."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.listening = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        server.close()
        for pipe in tuple(self._pipes):
            pipe.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self.host, self.port)
        pipes = [asyncio.create_task(self._pipe(reader, back)), asyncio.create_task(self._pipe(there, writer))]
        self._pipes.update(pipes)
        try:
            await asyncio.wait(pipes)
        finally:
            for pipe in pipes:
                pipe.cancel()
            self._pipes.difference_update(pipes)
            for end in (writer, back):
                end.close()

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(_CHUNK):
                if asyncio.current_task() in self._deaf:
                    continue  # swallowed, as by a load balancer that has forgotten the connection
                sink.write(data)
                await sink.drain()
        sink.close()


@contextlib.contextmanager
def running_proxy(host: str, port: int) -> Iterator[Proxy]:
    """A proxy in a thread of its own."""
    proxy, ready, loop, stop = Proxy(host, port), threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(proxy.serve(ready, stop)))
    thread.start()
    assert ready.wait(10)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.run_until_complete(asyncio.sleep(0.1))
        loop.close()
