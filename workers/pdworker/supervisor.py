"""`pd-worker serve`: one worker pod.

It starts the ranks, answers HTTP for them, and on prefill runs the bootstrap server.
"""

import asyncio
import contextlib
import logging
import signal
import tempfile
import time
from pathlib import Path

from aiohttp import web

from pdworker import api, ranks
from pdworker.addresses import bound_to
from pdworker.bootstrap import server
from pdworker.bootstrap.registry import Registry, Settings, Shape
from pdworker.config import Config, Role

LOG = logging.getLogger(__name__)


async def serve(config: Config) -> None:
    """Serve until SIGTERM. Raises ranks.RankDied when a rank ends, so that the pod restarts as a whole."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pd-worker-")))
        registry = registry_of(config) if config.role is Role.PREFILL else None
        if registry is not None:  # before the ranks, which register with it
            await _site(stack, server.application(registry), config, port=config.bootstrap_port)
        started = await stack.enter_async_context(ranks.running(config.group.tensor, folder=folder))
        app = api.application(config, started, registry, clock=time.monotonic)
        await _site(stack, app, config, port=config.http_port)
        LOG.info("%s %s of %d ranks at %s", config.role, config.pod, config.group.tensor, config.pod_ip)
        death = asyncio.create_task(ranks.first_death(started))
        end = asyncio.create_task(ended.wait())
        await asyncio.wait({death, end}, return_when=asyncio.FIRST_COMPLETED)
        end.cancel()
        if not ended.is_set():
            await death
        death.cancel()


def registry_of(config: Config) -> Registry:
    """The registry of this pod's prefill instance."""
    shape = Shape(attn_tp_size=config.group.attention_tensor, attn_cp_size=config.group.context)
    return Registry(shape, Settings(config.geometry.page_size, config.geometry.dtype))


async def _site(stack: contextlib.AsyncExitStack, app: web.Application, config: Config, *, port: int) -> None:
    runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, bound_to(config.pod_ip), port).start()
