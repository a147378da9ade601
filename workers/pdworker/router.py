"""`pd-worker router`: takes a request, picks a prefill and a decode pod, and hands both the same room."""

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from pdworker.addresses import bound_to, url
from pdworker.api import MAX_BODY_BYTES

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 2.0  # how stale the list of ready pods may be; readiness probes are no faster
PROBE_TIMEOUT = aiohttp.ClientTimeout(total=2)
FRESH_LOOKS = 2  # before a request is refused; each takes at most the time of a probe
MAX_PODS = 1024  # addresses of one role; a headless Service of more needs another router
# Both sides fail by themselves within their own deadlines (300 s and a margin each); this is for sides that don't.
REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=420, connect=5)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a router is told."""

    prefill_service: str
    decode_service: str
    http_port: int
    bootstrap_port: int
    bind: str | None  # None is every interface

    @classmethod
    def read(cls, env: Mapping[str, str]) -> "Settings":
        """From the environment. Raises KeyError naming the variable that is missing."""
        return cls(
            prefill_service=env["PD_PREFILL_SERVICE"],
            decode_service=env["PD_DECODE_SERVICE"],
            http_port=int(env.get("PD_HTTP_PORT", "30000")),
            bootstrap_port=int(env.get("PD_BOOTSTRAP_PORT", "8998")),
            bind=bound_to(env.get("POD_IP", "")),
        )


class SideError(RuntimeError):
    """One side of a pair could not do its part; the status is the router's answer to its client."""

    def __init__(self, message: str, *, status: int = 502) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Pool:
    """The pods of one role: known by DNS, ready by their own word."""

    service: str
    known: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    _turn: int = field(default=0)

    def next(self) -> str | None:
        """The next ready pod in turn; None when there is none."""
        if not self.ready:
            return None
        self._turn += 1
        return self.ready[self._turn % len(self.ready)]

    def story(self) -> str:
        """How many there are, for a message."""
        return f"{len(self.ready)} of {len(self.known)} pods of {self.service} are ready"


class Router:
    """Both pools, looked at again and again, and the requests through them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.prefill = Pool(settings.prefill_service)
        self.decode = Pool(settings.decode_service)
        self._http = aiohttp.ClientSession()
        self._looking = asyncio.Lock()
        self._looks = 0

    async def close(self) -> None:
        """End all connections."""
        await self._http.close()

    async def watch(self) -> None:
        """Keep both pools fresh, for ever."""
        while True:
            await self._look_again()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self, pool: Pool) -> None:
        """Resolve and probe one pool once."""
        pool.known = await _resolve(pool.service, self._settings.http_port)
        answers = await asyncio.gather(*(self._is_ready(host) for host in pool.known))
        pool.ready = tuple(host for host, is_ready in zip(pool.known, answers, strict=True) if is_ready)

    async def route(self, request: web.Request) -> web.Response:
        """Serve one request through a pair; the answer says what was moved and how fast."""
        try:
            body = await request.json()
        except ValueError as wrong:
            return web.json_response({"error": {"message": f"the body is not JSON: {wrong}"}}, status=400)
        if not isinstance(body, dict):
            return web.json_response({"error": {"message": "the body is not a JSON object"}}, status=400)
        pair = await self._pair()
        if pair is None:
            message = f"no pair: {self.prefill.story()}, {self.decode.story()}"
            return web.json_response({"error": {"message": message}}, status=503)
        prefill, decode = pair
        room = secrets.randbits(63)
        body |= {
            "bootstrap_host": prefill,
            "bootstrap_port": self._settings.bootstrap_port,
            "bootstrap_room": room,
        }
        return await self._through(prefill, decode, request.path, body)

    async def _pair(self) -> tuple[str, str] | None:
        """The next pair; None when there is none although it was looked for anew.

        Kubernetes may call a pod ready before the next look does, and a user who saw Ready must not be told otherwise.
        """
        for look in range(FRESH_LOOKS + 1):
            prefill, decode = self.prefill.next(), self.decode.next()
            if prefill is not None and decode is not None:
                return prefill, decode
            if look < FRESH_LOOKS:
                await self._look_again()
        return None

    async def _look_again(self) -> None:
        """Look at both pools; requests that wait at the same time share one look."""
        seen = self._looks
        async with self._looking:
            if self._looks == seen:
                await asyncio.gather(self.look(self.prefill), self.look(self.decode))
                self._looks += 1

    async def _through(self, prefill: str, decode: str, path: str, body: dict[str, Any]) -> web.Response:
        sides = {"prefill": prefill, "decode": decode}
        tasks = [asyncio.create_task(self._post(host, path, body)) for host in sides.values()]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        failed = next((task for task in tasks if task in done and task.exception() is not None), None)
        if failed is not None:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            side = tuple(sides)[tasks.index(failed)]
            message = f"{side} {sides[side]}: {failed.exception()}"
            status = failure.status if isinstance(failure := failed.exception(), SideError) else 502
            return web.json_response({"error": {"message": message}}, status=status)
        sent, received = (task.result() for task in tasks)
        return web.json_response(received | {"transfer": _moved(sides, sent["transfer"], received["transfer"])})

    async def _post(self, host: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        target = url(host, self._settings.http_port, path)
        try:
            async with self._http.post(target, json=body, timeout=REQUEST_TIMEOUT) as answer:
                said: dict[str, Any] = await answer.json()
                status = answer.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as wrong:
            raise SideError(f"no answer: {wrong!r}") from None
        if "error" in said:
            # A body that a worker refuses is the client's doing; all else is the pair's.
            raise SideError(str(said["error"]), status=400 if status == 400 else 502)  # noqa: PLR2004 -- bad request
        return said

    async def _is_ready(self, host: str) -> bool:
        try:
            target = url(host, self._settings.http_port, "/ready")
            async with self._http.get(target, timeout=PROBE_TIMEOUT) as answer:
                return answer.status == 200  # noqa: PLR2004 -- OK
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False


def _moved(sides: Mapping[str, str], sent: Mapping[str, Any], received: Mapping[str, Any]) -> dict[str, Any]:
    """The transfer as both sides saw it."""
    rate = round(received["wire_bytes"] / sent["seconds"]) if sent["seconds"] else None
    return {**sides, **sent, "wire_bytes": received["wire_bytes"], "wire_bytes_per_second": rate}


async def _resolve(service: str, port: int) -> tuple[str, ...]:
    """The addresses behind a headless Service, unready pods among them; none while the name doesn't resolve."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(service, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as failed:  # a name with a label too long for DNS is a UnicodeError
        LOG.warning("%s doesn't resolve: %s", service, failed)
        return ()
    return tuple(sorted({str(address[0]) for *_, address in found}))[:MAX_PODS]


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    router = Router(settings)
    runner = web.AppRunner(application(router), handle_signals=False, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    watching = asyncio.create_task(router.watch())
    try:
        await web.TCPSite(runner, settings.bind, settings.http_port).start()
        await ended.wait()
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        await runner.cleanup()
        await router.close()


def application(router: Router) -> web.Application:
    """The router's routes."""

    async def ok(_: web.Request) -> web.Response:
        return web.Response(text="OK")

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.add_routes([web.get(path, ok) for path in ("/livez", "/ready", "/health")])
    app.add_routes([web.post(path, router.route) for path in ("/generate", "/v1/completions")])
    return app
