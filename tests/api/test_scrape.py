"""Scraping hostile endpoints: each costs its bound and nothing more."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from pdoperator.observe.scrape import Limits, Scraper, Target, open_session
from pdoperator.topology.role import Role
from pdoperator.verify.samples import Gap, GapReason, Page, PodRef

LIMITS = Limits(total_seconds=0.5, body_bytes=1 << 20, connections=4)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answering(head: bytes, *chunks: bytes, pause: float = 0.0, times: int = 1) -> Serve:
    """Sends the head, then the chunks so many times, with a pause before each."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        for _ in range(times):
            for chunk in chunks:
                await asyncio.sleep(pause)
                writer.write(chunk)
                await writer.drain()

    return serve


@contextlib.asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[Target]:
    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(quietly, "127.0.0.1", 0)
    try:
        yield a_target(server.sockets[0].getsockname()[1])
    finally:
        server.close()


def a_target(port: int, *, ip: str = "127.0.0.1") -> Target:
    return Target(pod=PodRef(name="v2-prefill-0", uid="u", restarts=0), role=Role.PREFILL, ip=ip, port=port)


async def read(*targets: Target, limits: Limits = LIMITS) -> tuple[Page | Gap, ...]:
    async with open_session() as session:
        return await Scraper(session=session, limits=limits, now=lambda: 7.0).scrape(targets)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"


async def test_a_page_is_read_with_its_series_and_its_time() -> None:
    async with listening(answering(OK, b'pd_kv_wire_bytes_total{role="decode"} 12\n')) as target:
        (page,) = await read(target)
    assert isinstance(page, Page)
    assert (page.pod, page.role, page.at_seconds) == (target.pod, Role.PREFILL, 7.0)
    assert [(each.name, each.value) for each in page.series] == [("pd_kv_wire_bytes_total", 12.0)]


async def hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()  # until the other side gives up


async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        pytest.param(hang, GapReason.TIMEOUT, id="says nothing"),
        pytest.param(answering(OK, b"a 1\n", pause=0.1, times=100), GapReason.TIMEOUT, id="drips for ever"),
        pytest.param(
            answering(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", pause=0.1, times=100), GapReason.TIMEOUT, id="drips headers"
        ),
        pytest.param(answering(OK, b"#" * 65536 + b"\n", times=100), GapReason.TOO_LARGE, id="sends and sends"),
        pytest.param(answering(OK, b"# " + b"a" * 4000 + b"\n", times=300), GapReason.TOO_LARGE, id="too many bytes"),
        pytest.param(hang_up, GapReason.UNREACHABLE, id="hangs up"),
        pytest.param(answering(b"SSH-2.0-x\r\n\r\n"), GapReason.UNREACHABLE, id="speaks another protocol"),
        pytest.param(
            answering(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"), GapReason.UNREACHABLE, id="vast header"
        ),
        pytest.param(answering(OK, b"<html>hello</html>\n"), GapReason.MALFORMED, id="is a web page"),
        pytest.param(answering(OK, b"\x1f\x8b\x08\x00\xff\xfe"), GapReason.MALFORMED, id="is compressed"),
        pytest.param(answering(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), GapReason.BAD_STATUS, id="isn't well"),
        pytest.param(
            answering(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"),
            GapReason.BAD_STATUS,
            id="sends us elsewhere",
        ),
    ],
)
async def test_an_endpoint_that(serve: Serve, reason: GapReason) -> None:
    started = time.monotonic()
    async with listening(serve) as target:
        (gap,) = await read(target)
    assert isinstance(gap, Gap)
    assert gap.reason is reason
    assert target.url in gap.detail
    assert len(gap.detail) <= 200
    assert "\n" not in gap.detail
    assert time.monotonic() - started < 2.0


async def test_nobody_listens() -> None:
    (gap,) = await read(a_target(1))
    assert isinstance(gap, Gap)
    assert gap.reason is GapReason.UNREACHABLE


async def test_a_hung_worker_delays_nobody_elses_page() -> None:
    async with listening(hang) as hung, listening(answering(OK, b"a 1\n")) as fine:
        readings = await read(hung, fine, hung, fine)
    assert [type(each) for each in readings] == [Gap, Page, Gap, Page]


async def test_waiting_for_a_free_slot_is_not_the_workers_fault() -> None:
    async with listening(hang) as hung, listening(answering(OK, b"a 1\n")) as fine:
        readings = await read(*[hung] * 4, fine)  # four slots, all taken for a whole timeout
    assert isinstance(readings[-1], Page)


async def test_no_more_connections_at_once_than_allowed() -> None:
    open_now = most = 0

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await answering(OK, b"a 1\n", pause=0.02)(reader, writer)
        open_now -= 1

    async with listening(counted) as target:
        readings = await read(*[target] * 20)
    assert all(isinstance(each, Page) for each in readings)
    assert most <= 4


@pytest.mark.parametrize(
    ("ip", "url"),
    [
        pytest.param("10.0.0.5", "http://10.0.0.5:30000/metrics", id="IPv4"),
        pytest.param("fd00::5", "http://[fd00::5]:30000/metrics", id="IPv6 in brackets"),
    ],
)
def test_the_address(ip: str, url: str) -> None:
    assert a_target(30000, ip=ip).url == url
