"""One rank, a process of its own: pool, engine and its side of the protocol.

Its pod's supervisor speaks to it by a socket file.
"""

import asyncio
import contextlib
import logging
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from pdworker import transport
from pdworker.bootstrap.client import Bootstrap
from pdworker.bootstrap.registry import HEARTBEAT_SECONDS, Place
from pdworker.config import Config, Role
from pdworker.kv.gate import QUARANTINE_MARGIN_SECONDS, PageGate
from pdworker.kv.pool import Pool
from pdworker.metrics import Metrics
from pdworker.reasons import TransferError
from pdworker.transfer.accounting import Accounting, Items
from pdworker.transfer.backends.base import Engine
from pdworker.transfer.backends.mooncake import MooncakeEngine
from pdworker.transfer.factor import ReplicaFactor
from pdworker.transfer.receiver import Accounts, Receiver
from pdworker.transfer.sender import Sender

LOG = logging.getLogger(__name__)


async def run(config: Config, *, rank: int, socket: Path) -> None:
    """Serve as one rank until SIGTERM. Raises what keeps it from starting: EngineError, OSError."""
    metrics = _metrics(config, rank=rank)
    async with contextlib.AsyncExitStack() as stack:
        app = web.Application(client_max_size=64 << 10)
        app.router.add_get("/metrics", lambda _: _text(metrics.page()))
        app.router.add_get("/state", lambda _: _text("ready"))
        if config.role is Role.DECODE or config.group.sends(rank):
            plane = await asyncio.to_thread(_data_plane, config, metrics, rank)
            add = _add_sender if config.role is Role.PREFILL else _add_receiver
            await add(stack, app, config, plane)
        else:
            _transport(config, metrics)  # a silent context rank: it holds no pages and sends none
        runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.UnixSite(runner, str(socket)).start()
        if config.role is Role.PREFILL:
            stack.enter_context(_task(_keep_registered(config, rank)))
        await _terminated()


@dataclass(frozen=True, slots=True)
class Plane:
    """What a rank that holds pages is made of."""

    rank: int
    engine: Engine
    pool: Pool
    gate: PageGate
    factor: ReplicaFactor
    metrics: Metrics


def _data_plane(config: Config, metrics: Metrics, rank: int) -> Plane:
    engine = MooncakeEngine(config.pod_ip, protocol=_transport(config, metrics).lower())
    pool = Pool(config.geometry, pages=config.pool_pages)
    for address in pool.addresses():
        engine.register(address, pool.layer_bytes())
    factor = ReplicaFactor(mla=True, warn=LOG.warning)
    gate = PageGate(config.pool_pages, quarantine_s=config.engine_timeout_s + QUARANTINE_MARGIN_SECONDS)
    return Plane(rank, engine, pool, gate, factor, metrics)


def _transport(config: Config, metrics: Metrics) -> str:
    devices = transport.rdma_devices()
    used = transport.in_use(config.transport, devices=devices)
    if used != config.transport:
        LOG.warning("transport %s was asked for; devices %s: %s is used", config.transport, list(devices), used)
    metrics.uses(backend="Mooncake", transport=used)
    return used


async def _add_sender(stack: contextlib.AsyncExitStack, app: web.Application, config: Config, plane: Plane) -> None:
    accounting = Accounting(Items(config.geometry.page_bytes), plane.factor, legacy=config.legacy_accounting)
    sender = Sender(
        geometry=config.geometry,
        pool=plane.pool,
        gate=plane.gate,
        engine=plane.engine,
        accounting=accounting,
        metrics=plane.metrics,
    )
    stack.callback(sender.close)
    server = await asyncio.start_server(sender.serve, config.pod_ip, config.rank_port_base + plane.rank, limit=1 << 20)
    stack.callback(server.close)

    async def prefill(request: web.Request) -> web.Response:
        asked = await request.json()
        seconds = config.bootstrap_timeout_s
        metric = await sender.prefill(asked["room"], asked["prompt_tokens"], barrier_seconds=seconds)
        if metric is None:
            return web.json_response({"dummy": True})
        return web.json_response({
            "logical_bytes": metric.logical_bytes,
            "reported_bytes": metric.reported_bytes,
            "seconds": metric.seconds,
            "replica_factor": plane.factor.get(),
        })  # fmt: skip

    app.router.add_post("/prefill", _reporting(prefill))


async def _add_receiver(stack: contextlib.AsyncExitStack, app: web.Application, config: Config, plane: Plane) -> None:
    receiver = Receiver(
        rank=plane.rank,
        group=config.group,
        pool=plane.pool,
        gate=plane.gate,
        session=plane.engine.session,
        accounts=Accounts(plane.factor, plane.metrics),
    )
    stack.push_async_callback(receiver.close)

    async def decode(request: web.Request) -> web.Response:
        asked = await request.json()
        bootstrap = Bootstrap(asked["bootstrap_host"], asked["bootstrap_port"])
        seconds = config.waiting_timeout_s
        received = await receiver.receive(asked["room"], asked["prompt_tokens"], bootstrap, seconds=seconds)
        return web.json_response({"wire_bytes": received})

    app.router.add_post("/decode", _reporting(decode))


def _reporting(handler: Any) -> Any:  # noqa: ANN401 -- an aiohttp handler
    """Turn a failed request into an answer that names its reason."""

    async def report(request: web.Request) -> web.Response:
        try:
            answer: web.Response = await handler(request)
        except TransferError as failed:
            LOG.warning("request failed: %s", failed)
            return web.json_response({"reason": failed.reason, "detail": failed.detail}, status=500)
        return answer

    return report


async def _keep_registered(config: Config, rank: int) -> None:
    """Register with the pod's own bootstrap server, and go on saying that this rank is there."""
    group = config.group
    place = Place(dp=0, cp=group.context_rank(rank), tp=group.attention_rank(rank), pp=0)
    bootstrap = Bootstrap(config.pod_ip, config.bootstrap_port)
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                await bootstrap.register(session, place, ip=config.pod_ip, port=config.rank_port_base + rank)
            except (aiohttp.ClientError, TimeoutError) as failed:
                LOG.warning("rank %d could not register: %r", rank, failed)
            await asyncio.sleep(HEARTBEAT_SECONDS)


def _metrics(config: Config, *, rank: int) -> Metrics:
    metrics = Metrics(role=config.role, tp_rank=rank, cp_rank=config.group.context_rank(rank))
    if config.expected_factor is not None:
        metrics.expects(config.expected_factor)
    return metrics


async def _text(text: str) -> web.Response:
    return web.Response(text=text)


@contextlib.contextmanager
def _task(coroutine: Any) -> Any:  # noqa: ANN401 -- a coroutine, and a context manager's generator
    task = asyncio.create_task(coroutine)
    try:
        yield
    finally:
        task.cancel()


async def _terminated() -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    started = time.monotonic()
    await ended.wait()
    LOG.info("ending after %.0f s", time.monotonic() - started)
