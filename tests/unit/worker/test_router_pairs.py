"""The router between a client and two pods that this test plays."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from pdworker.router import FRESH_LOOKS, Router, Settings, application

PREFILL, DECODE = "127.92.0.1", "127.92.0.2"  # pods of one port, each with an address of its own
SENT = {"replica_factor": 4, "logical_bytes": 10, "reported_bytes": 40, "seconds": 0.5, "bootstrap_room": 1}


@dataclass
class FakePod:
    """A worker pod that answers what it is told, and remembers what it was asked."""

    status: int
    answer: dict[str, Any]
    is_ready: bool = True
    probes: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)

    def application(self) -> web.Application:
        app = web.Application()
        app.add_routes([web.get("/ready", self.ready), web.post("/generate", self.generate)])
        return app

    async def ready(self, _: web.Request) -> web.Response:
        self.probes += 1
        return web.Response(status=200 if self.is_ready else 503)

    async def generate(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        return web.json_response(self.answer, status=self.status)


@dataclass
class Bench:
    """A router in front of both pods."""

    prefill: FakePod
    decode: FakePod
    router: Router
    client: TestClient[web.Request, web.Application]

    async def look(self) -> None:
        await asyncio.gather(self.router.look(self.router.prefill), self.router.look(self.router.decode))

    async def ask(self, **body: object) -> tuple[int, dict[str, Any]]:
        async with self.client.post("/generate", json=body) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    prefill = FakePod(200, {"transfer": SENT})
    decode = FakePod(200, {"text": "", "meta_info": {"id": "1"}, "transfer": {"bootstrap_room": 1, "wire_bytes": 40}})
    async with TestServer(prefill.application(), host=PREFILL) as first:
        assert first.port is not None
        async with TestServer(decode.application(), host=DECODE, port=first.port):
            router = Router(Settings(PREFILL, DECODE, first.port, 8998, PREFILL))
            async with TestClient(TestServer(application(router))) as client:
                yield Bench(prefill, decode, router, client)
            await router.close()


async def test_both_pods_get_the_same_room_and_the_answer_has_both_sides(bench: Bench) -> None:
    await bench.look()
    status, said = await bench.ask(prompt_tokens=4)
    assert status == 200
    (sent,), (received,) = bench.prefill.asked, bench.decode.asked
    assert sent == received
    assert (sent["bootstrap_host"], sent["bootstrap_port"], sent["prompt_tokens"]) == (PREFILL, 8998, 4)
    assert 0 <= sent["bootstrap_room"] < 1 << 63
    assert said["transfer"] == {
        "prefill": PREFILL,
        "decode": DECODE,
        "bootstrap_room": 1,
        "replica_factor": 4,
        "logical_bytes": 10,
        "reported_bytes": 40,
        "wire_bytes": 40,
        "seconds": 0.5,
        "wire_bytes_per_second": 80,
    }


async def test_every_request_has_a_room_of_its_own(bench: Bench) -> None:
    await bench.look()
    for _ in range(20):
        await bench.ask(prompt_tokens=4)
    assert len({asked["bootstrap_room"] for asked in bench.prefill.asked}) == 20


async def test_pods_that_became_ready_since_the_last_look_serve_at_once(bench: Bench) -> None:
    bench.decode.is_ready = False
    await bench.look()
    bench.decode.is_ready = True
    status, _ = await bench.ask(prompt_tokens=4)
    assert status == 200


async def test_requests_that_find_no_pair_together_share_their_looks(bench: Bench) -> None:
    bench.decode.is_ready = False
    answers = await asyncio.gather(*(bench.ask(prompt_tokens=4) for _ in range(20)))
    assert {status for status, _ in answers} == {503}
    assert bench.decode.probes <= 2 * FRESH_LOOKS  # a straggler may begin a round of its own


async def test_a_pod_that_is_not_ready_makes_no_pair_and_is_asked_nothing(bench: Bench) -> None:
    bench.decode.is_ready = False
    await bench.look()
    status, said = await bench.ask(prompt_tokens=4)
    assert status == 503
    assert said["error"]["message"] == (
        f"no pair: 1 of 1 pods of {PREFILL} are ready, 0 of 1 pods of {DECODE} are ready"
    )
    assert bench.prefill.asked == bench.decode.asked == []


@pytest.mark.parametrize(
    ("side", "status", "answered"),
    [
        pytest.param("prefill", 500, 502, id="prefill fails"),
        pytest.param("decode", 500, 502, id="decode fails"),
        pytest.param("decode", 503, 502, id="decode is full"),
        pytest.param("prefill", 400, 400, id="prefill refuses the body: the client's doing"),
        pytest.param("decode", 400, 400, id="decode refuses the body"),
    ],
)
async def test_a_side_that_fails_is_named_with_its_reason(bench: Bench, side: str, status: int, answered: int) -> None:
    await bench.look()
    pod: FakePod = getattr(bench, side)
    pod.status, pod.answer = status, {"error": {"reason": "EngineError", "message": "the link is down"}}
    found, said = await bench.ask(prompt_tokens=4)
    assert found == answered
    assert said["error"]["message"].startswith(f"{side} {PREFILL if side == 'prefill' else DECODE}: ")
    assert "the link is down" in said["error"]["message"]


async def test_a_pod_that_is_gone_since_the_last_look_is_named(bench: Bench) -> None:
    await bench.look()
    bench.router.decode.ready = ("127.92.0.3",)  # nobody listens there
    status, said = await bench.ask(prompt_tokens=4)
    assert status == 502
    assert said["error"]["message"].startswith("decode 127.92.0.3: no answer: ")


@pytest.mark.parametrize("body", [pytest.param("{", id="not JSON"), pytest.param("[1]", id="not an object")])
async def test_a_body_that_is_no_request_is_refused_by_the_router_itself(bench: Bench, body: str) -> None:
    await bench.look()
    async with bench.client.post("/generate", data=body) as answer:
        assert answer.status == 400
    assert bench.prefill.asked == []
