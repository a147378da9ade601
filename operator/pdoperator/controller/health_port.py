"""The operator's own HTTP port: /healthz, /readyz and /metrics, in the event loop whose health it reports."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

Explain = Callable[[], str]  # why not; empty when all is well


@asynccontextmanager
async def serving(*, port: int, registry: CollectorRegistry, trouble: Explain, unready: Explain) -> AsyncIterator[int]:
    """Serve on all addresses while the context lasts; yields the port (another one than asked for when that was 0)."""
    app = web.Application(client_max_size=1024)  # nothing here takes a body
    app.router.add_get("/healthz", _answer(trouble))
    app.router.add_get("/readyz", _answer(unready))
    app.router.add_get("/metrics", make_aiohttp_handler(registry))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, None, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _answer(reason: Explain) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.StreamResponse:
        why = reason()
        return web.Response(text=f"{why or 'ok'}\n", status=500 if why else 200)

    return answer
