"""An HTTP proxy before an API server that lets a watch's history expire once: the server says 410 Gone, as it may."""

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

from tests.support.apiserver import Apiserver

GONE = {
    "type": "ERROR",
    "object": {"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Expired", "code": 410},
}
START_SECONDS = 10
NOT_FORWARDED = {"host", "content-length", "transfer-encoding", "connection", "content-encoding", "accept-encoding"}


@dataclass(slots=True)
class ExpiringProxy:
    """Forwards everything, but for one event: the first that has the marker in it becomes 410 Gone."""

    upstream: str
    tls: ssl.SSLContext
    marker: bytes = b""  # nothing expires while it is empty
    expired: int = 0
    port: int = 0
    _session: aiohttp.ClientSession = field(init=False)

    async def forward(self, request: web.Request) -> web.StreamResponse:
        """One request, its answer passed on line by line as it comes."""
        headers = {name: value for name, value in request.headers.items() if name.lower() not in NOT_FORWARDED}
        url, body = f"{self.upstream}{request.path_qs}", await request.read() or None
        async with self._session.request(request.method, url, headers=headers, data=body, ssl=self.tls) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in NOT_FORWARDED}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                if self._expires(request, piece):
                    await response.write(json.dumps(GONE).encode() + b"\n")
                    break
                await response.write(piece)
            return response

    def _expires(self, request: web.Request, piece: bytes) -> bool:
        watch = request.query.get("watch") == "true" and request.path.endswith("/pddeployments")
        if not (watch and self.marker and self.marker in piece):
            return False
        self.marker, self.expired = b"", self.expired + 1
        return True

    async def serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        """Run until stopped."""
        app = web.Application(client_max_size=1 << 20)
        app.router.add_route("*", "/{path:.*}", self.forward)
        timeout = aiohttp.ClientTimeout(total=None, connect=5)  # a watch has no end
        async with aiohttp.ClientSession(timeout=timeout) as self._session:
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            ready.set()
            await stop.wait()
            await runner.cleanup()


@contextlib.contextmanager
def running_expiring_proxy(server: Apiserver, folder: Path) -> Iterator[tuple[ExpiringProxy, Path]]:
    """The proxy in a thread of its own, with an administrator's rights, and a kubeconfig that leads through it."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    proxy, stop = ExpiringProxy(server.url, server.api.context), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(proxy.serve(ready, stop)), daemon=True)
    thread.start()
    try:
        assert ready.wait(START_SECONDS)
        path = folder / "through-the-proxy"
        path.write_text(json.dumps(_kubeconfig(f"http://127.0.0.1:{proxy.port}")), encoding="utf-8")
        yield proxy, path
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=START_SECONDS)
        loop.close()


def _kubeconfig(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxy", "cluster": {"server": url}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
        "current-context": "proxy",
    }
