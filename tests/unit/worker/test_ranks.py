"""A rank's answers as its supervisor reads them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import aiohttp
import pytest
from aiohttp import web

from pdworker.ranks import MAX_PAGE_BYTES, Rank
from pdworker.reasons import Reason, TransferError

if TYPE_CHECKING:
    from asyncio.subprocess import Process


async def in_pieces(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    for at in range(3):
        await answer.write(f"piece {at}\n".encode() * 4000)
    return answer


async def endless(_: web.Request) -> web.Response:
    return web.Response(body=b"x" * (MAX_PAGE_BYTES + 1))


async def broken(_: web.Request) -> web.Response:
    return web.Response(status=500, text="pd_kv_wire_bytes_total 0")


async def failing(_: web.Request) -> web.Response:
    return web.json_response({"reason": "EngineError", "detail": "a write failed"}, status=500)


async def serving(_: web.Request) -> web.Response:
    return web.json_response({"wire_bytes": 7})


@pytest.fixture
async def rank(tmp_path: Path) -> AsyncIterator[Rank]:
    app = web.Application()
    app.add_routes([web.get("/pieces", in_pieces), web.get("/endless", endless), web.get("/broken", broken)])
    app.add_routes([web.post("/failing", failing), web.post("/serving", serving), web.post("/broken", broken)])
    runner = web.AppRunner(app)
    await runner.setup()
    path = str(tmp_path / "rank.sock")
    await web.UnixSite(runner, path).start()
    async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(path)) as http:
        yield Rank(3, cast("Process", None), http)
    await runner.cleanup()


async def test_a_page_that_comes_in_pieces_is_read_whole(rank: Rank) -> None:
    page = await rank.page("/pieces")
    assert page is not None
    assert [page.count(f"piece {at}\n") for at in range(3)] == [4000, 4000, 4000]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/endless", id="larger than any honest page"),
        pytest.param("/broken", id="an error"),
        pytest.param("/nowhere", id="not found"),
    ],
)
async def test_a_page_that_is_none_is_a_gap(rank: Rank, path: str) -> None:
    assert await rank.page(path) is None


async def test_a_rank_that_is_gone_is_a_gap_and_not_ready(rank: Rank) -> None:
    await rank.http.close()
    async with aiohttp.ClientSession(connector=aiohttp.UnixConnector("/nonexistent/rank.sock")) as http:
        gone = Rank(3, rank.process, http)
        assert await gone.page() is None
        assert await gone.is_ready() is False


async def test_a_ranks_part_of_a_request_is_its_answer(rank: Rank) -> None:
    assert await rank.ask("serving", {}, seconds=5) == {"wire_bytes": 7}


@pytest.mark.parametrize(
    ("verb", "reason", "detail"),
    [
        pytest.param("failing", Reason.ENGINE_ERROR, "rank 3: a write failed", id="with the rank's own reason"),
        pytest.param("broken", Reason.PEER_LOST, "rank 3 of this pod: ", id="without one"),
    ],
)
async def test_a_failed_part_names_the_rank(rank: Rank, verb: str, reason: Reason, detail: str) -> None:
    with pytest.raises(TransferError) as failed:
        await rank.ask(verb, {}, seconds=5)
    assert failed.value.reason is reason
    assert failed.value.detail.startswith(detail)
