"""run(settings): the whole operator in one event loop, from the lease to the last worker.

Every part runs for ever; the first that ends, for whatever reason, ends the process. A restart is cheap and clean, a
half-alive operator is neither.
"""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from enum import IntEnum
from typing import Any, Protocol

from pdoperator.cluster.client import Client, connect
from pdoperator.cluster.kinds import Kind
from pdoperator.cluster.lease import Lease, Lost
from pdoperator.controller.assembly import Assembly, assembled
from pdoperator.controller.health_port import serving
from pdoperator.controller.metrics import Metrics
from pdoperator.controller.settings import RunSettings
from pdoperator.controller.supervise import Part, supervise
from pdoperator.live.state import Key

_log = logging.getLogger(__name__)

OBSERVERS = 16  # PDDeployments observed at once: one with hung workers costs 2 s, a hundred of them still fit in 15 s
STOP_SECONDS = 4.0  # for what is in flight
LAST_RESORT_SECONDS = 9.0  # a stop that takes longer is ended hard: whoever asked for it waits 10 s


class Exit(IntEnum):
    """How the process ends."""

    CLEAN = 0  # asked to stop
    CRASHED = 1  # a part of it failed: the log has the traceback
    USAGE = 2  # wrong flags or environment
    LEASE_LOST = 3  # another operator may act now


class Hint(Protocol):
    """Is told what kind of object changed, and which PDDeployments that may concern."""

    def __call__(self, kind: Kind, *keys: Key) -> None: ...  # noqa: D102


class WatchEvents(Protocol):
    """The source of events: calls `hint` for each until `stop` is set."""

    def __call__(  # noqa: D102
        self, settings: RunSettings, hint: Hint, *, ready: asyncio.Event, stop: asyncio.Event
    ) -> Coroutine[Any, Any, None]: ...


async def run(settings: RunSettings, *, watch_events: WatchEvents) -> Exit:
    """Run until SIGTERM or SIGINT, or until something ends it."""
    stop = asyncio.Event()
    _stop_on_signals(stop)
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        # Connections of its own: one that was dropped silently mustn't cost the lease.
        lone = await stack.enter_async_context(await connect(count=metrics.count_request, keep_alive=False))
        lease = _lease(settings, lone)
        client = await connect(count=metrics.count_request, may_write=lambda: lease.held)
        await stack.enter_async_context(client)
        ours = await stack.enter_async_context(assembled(settings, client=client, lease=lease, metrics=metrics))
        health = {"trouble": ours.trouble, "unready": ours.unready}
        await stack.enter_async_context(serving(port=settings.http_port, registry=metrics.registry, **health))
        try:
            await supervise(_parts(settings, ours, watch_events, stop), stop=stop, stop_seconds=STOP_SECONDS)
        except Lost as lost:
            _log.error("%s", lost)
            return Exit.LEASE_LOST
        finally:
            asyncio.get_running_loop().call_later(LAST_RESORT_SECONDS - STOP_SECONDS, os._exit, Exit.CRASHED)
            await lease.release()
    return Exit.CLEAN


def _parts(settings: RunSettings, ours: Assembly, watch_events: WatchEvents, stop: asyncio.Event) -> dict[str, Part]:
    """Everything that runs for ever. What acts waits for the lease."""
    held, watching = asyncio.Event(), asyncio.Event()

    async def lease() -> None:
        await ours.lease.acquire()
        held.set()
        await ours.lease.keep()

    def when_held(part: Part) -> Part:
        async def waiting() -> None:
            await held.wait()
            await part()

        return waiting

    def hint(kind: Kind, *keys: Key) -> None:
        ours.metrics.events.labels(kind.plural).inc()
        for key in keys:
            ours.queue.add(key)

    async def events() -> None:
        await ours.resync.listed.wait()  # kopf gives up on a kind that isn't served (yet)
        await watch_events(settings, hint, ready=watching, stop=stop)

    async def signals() -> None:
        await watching.wait()
        _stop_on_signals(stop)  # kopf puts its own handlers in place, which end it without telling us
        await asyncio.Event().wait()

    acting: dict[str, Part] = {"resync": ours.resync.run, "watch": events, "signals": signals}
    acting |= {f"worker {number}": ours.worker.run for number in range(settings.concurrency)}
    acting |= {f"observer {number}": ours.observer.work for number in range(OBSERVERS)}
    return {"lease": lease, "loop lag": ours.measure_lag} | {name: when_held(part) for name, part in acting.items()}


def _lease(settings: RunSettings, client: Client) -> Lease:
    return Lease(
        client=client,
        namespace=settings.lease_namespace,
        name=settings.lease_name,
        identity=settings.identity,
        now=time.monotonic,
        duration_seconds=settings.lease_seconds,
    )


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop.set)
