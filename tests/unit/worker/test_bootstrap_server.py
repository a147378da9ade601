"""The bootstrap server's answers, byte for byte what a decode rank sees."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from pdworker.bootstrap.registry import Registry, Settings, Shape
from pdworker.bootstrap.server import application

ANY = {"prefill_dp_rank": "-1", "prefill_cp_rank": "-1", "target_tp_rank": "-1", "target_pp_rank": "-1"}
Client = TestClient[web.Request, web.Application]


def row(*, tp: int = 0, cp: int = 0, port: int = 16000) -> dict[str, Any]:
    return {
        "attn_dp_rank": 0,
        "attn_cp_rank": cp,
        "attn_tp_rank": tp,
        "pp_rank": 0,
        "rank_ip": "10.0.0.5",
        "rank_port": port,
    }


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    registry = Registry(Shape(attn_tp_size=2, attn_cp_size=2), Settings(64, "bfloat16"))
    async with TestClient(TestServer(application(registry))) as client:
        yield client


async def register(client: Client, *places: tuple[int, int]) -> None:
    for cp, tp in places:
        async with client.put("/route", json=row(cp=cp, tp=tp, port=16000 + 2 * cp + tp)) as answer:
            assert answer.status == 200


async def ask(client: Client, **query: str) -> tuple[int, str]:
    async with client.get("/route", params=query) as answer:
        return answer.status, await answer.text()


async def test_it_is_healthy_before_anybody_registers(client: Client) -> None:
    async with client.get("/health") as answer:
        assert (answer.status, await answer.text()) == (200, "OK")


@pytest.mark.case("C-06")
async def test_the_topology_comes_only_with_the_last_rank(client: Client) -> None:
    assert await ask(client, **ANY) == (503, "0 of 4 ranks have registered")
    await register(client, (0, 0), (0, 1), (1, 0))
    assert await ask(client, **ANY) == (503, "3 of 4 ranks have registered")
    await register(client, (1, 1))
    async with client.get("/route", params=ANY) as answer:
        topology = await answer.json()
    assert answer.status == 200
    assert (topology["attn_tp_size"], topology["attn_cp_size"]) == (2, 2)
    assert None not in topology.values()


async def test_an_address_too_comes_only_with_the_last_rank(client: Client) -> None:
    query = {"prefill_dp_rank": "0", "prefill_cp_rank": "1", "target_tp_rank": "0", "target_pp_rank": "0"}
    await register(client, (0, 0), (0, 1), (1, 0))
    assert (await ask(client, **query))[0] == 503
    await register(client, (1, 1))
    async with client.get("/route", params=query) as answer:
        assert await answer.json() == {"rank_ip": "10.0.0.5", "rank_port": 16002}


async def test_a_rank_that_does_not_exist_is_not_found(client: Client) -> None:
    await register(client, (0, 0), (0, 1), (1, 0), (1, 1))
    query = {"prefill_dp_rank": "0", "prefill_cp_rank": "0", "target_tp_rank": "2", "target_pp_rank": "0"}
    assert (await ask(client, **query))[0] == 404


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({}, id="without a query"),
        pytest.param({**ANY, "target_tp_rank": "one"}, id="not a number"),
        pytest.param({name: ANY[name] for name in list(ANY)[:3]}, id="one is missing"),
    ],
)
async def test_a_query_without_all_four_ranks_is_refused(client: Client, query: dict[str, str]) -> None:
    status, text = await ask(client, **query)
    assert status == 400
    assert "target_tp_rank" in text


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="not JSON"),
        pytest.param("[1]", id="a list"),
        pytest.param("null", id="null"),
        pytest.param('{"attn_dp_rank": 0}', id="fields are missing"),
        pytest.param('{"attn_dp_rank": Infinity}', id="infinity"),
        pytest.param(
            '{"attn_dp_rank":0,"attn_cp_rank":0,"attn_tp_rank":2,"pp_rank":0,"rank_ip":"10.0.0.5","rank_port":1}',
            id="a rank outside the instance",
        ),
        pytest.param(
            '{"attn_dp_rank":0,"attn_cp_rank":0,"attn_tp_rank":"x","pp_rank":0,"rank_ip":"10.0.0.5","rank_port":1}',
            id="a rank that is no number",
        ),
    ],
)
async def test_what_is_no_registration_is_refused_and_registers_nothing(client: Client, body: str) -> None:
    async with client.put("/route", data=body) as answer:
        assert answer.status == 400
        assert (await answer.text()).startswith("not a registration: ")
    assert await ask(client, **ANY) == (503, "0 of 4 ranks have registered")


async def test_a_body_of_megabytes_is_refused(client: Client) -> None:
    async with client.put("/route", data=aiohttp.BytesPayload(b" " * (1 << 20))) as answer:
        assert answer.status == 413
