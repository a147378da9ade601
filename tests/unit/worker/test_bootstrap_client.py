"""A decode rank that asks a prefill instance which is still starting waits, and crashes over nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from pdworker.bootstrap import client
from pdworker.bootstrap.client import Bootstrap
from pdworker.bootstrap.registry import Place, Registry, Settings, Shape
from pdworker.bootstrap.server import application
from pdworker.reasons import Reason, TransferError

TP8_PP2 = Shape(attn_tp_size=8, pp_size=2)
PLACES = [Place(0, 0, tp, pp) for pp in range(2) for tp in range(8)]


@dataclass
class Instance:
    """A prefill instance of 16 ranks, none registered yet, and what its server answered."""

    registry: Registry
    answers: list[int] = field(default_factory=list)
    another: asyncio.Event = field(default_factory=asyncio.Event)
    server: BaseTestServer | None = None

    def register(self, count: int) -> None:
        for place in PLACES[:count]:
            self.registry.register(place, ip="10.0.0.5", port=16000, now=time.monotonic())

    async def answered(self, more: int) -> None:
        """Wait for so many answers from now on."""
        async with asyncio.timeout(10):
            for _ in range(more):
                self.another.clear()
                await self.another.wait()

    @property
    def bootstrap(self) -> Bootstrap:
        assert self.server is not None
        return Bootstrap(self.server.host, int(self.server.port or 0))


@pytest.fixture
async def instance(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Instance]:
    monkeypatch.setattr(client, "RETRY_SECONDS", 0.01)
    found = Instance(Registry(TP8_PP2, Settings(64, "bfloat16")))

    @web.middleware
    async def record(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        answer = await handler(request)
        found.answers.append(answer.status)
        found.another.set()
        return answer

    app = application(found.registry)
    app.middlewares.append(record)
    async with TestServer(app) as found.server:
        yield found


@pytest.mark.case("C-06")
async def test_it_waits_through_0_and_15_ranks_and_goes_on_with_the_sixteenth(instance: Instance) -> None:
    async with aiohttp.ClientSession() as session:
        waiting = asyncio.create_task(instance.bootstrap.topology(session, seconds=30, clock=time.monotonic))
        await instance.answered(2)
        instance.register(15)
        await instance.answered(2)
        assert set(instance.answers) == {503}
        assert not waiting.done()
        instance.register(16)
        topology = await waiting
    assert (topology["attn_tp_size"], topology["pp_size"]) == (8, 2)
    assert instance.answers[-1] == 200


@pytest.mark.case("C-06")
async def test_when_its_time_is_up_it_says_how_many_had_registered(instance: Instance) -> None:
    instance.register(15)
    async with aiohttp.ClientSession() as session:
        with pytest.raises(TransferError, match="503 15 of 16 ranks have registered") as failed:
            await instance.bootstrap.topology(session, seconds=0, clock=time.monotonic)
    assert failed.value.reason is Reason.BOOTSTRAP_UNREACHABLE
