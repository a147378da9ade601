"""The router's choice, and the pieces around it."""

import asyncio
from pathlib import Path

import pytest

from pdworker import transport
from pdworker.addresses import bound_to, url
from pdworker.admission import MAX_QUEUED, Admission, QueueFullError
from pdworker.config import Transport
from pdworker.load import summarise
from pdworker.router import Pool, _resolve


def test_ready_pods_take_turns() -> None:
    pool = Pool("v2-lite-prefill.models.svc", known=("a", "b", "c"), ready=("a", "b", "c"))
    assert sorted(str(pool.next()) for _ in range(6)) == ["a", "a", "b", "b", "c", "c"]


def test_without_a_ready_pod_there_is_none_and_the_story_has_both_numbers() -> None:
    pool = Pool("v2-lite-decode.models.svc", known=("a", "b"))
    assert pool.next() is None
    assert pool.story() == "0 of 2 pods of v2-lite-decode.models.svc are ready"


@pytest.mark.parametrize("service", ["no-such-host.invalid", "x" * 70 + ".svc"], ids=["unknown", "a label too long"])
async def test_a_name_that_does_not_resolve_is_no_pods_and_no_end_of_the_watch(service: str) -> None:
    assert await _resolve(service, 30000) == ()


@pytest.mark.parametrize(
    ("host", "written"),
    [("10.0.0.5", "http://10.0.0.5:8998/route"), ("fd00::5", "http://[fd00::5]:8998/route")],
)
def test_an_ipv6_host_stands_in_brackets(host: str, written: str) -> None:
    assert url(host, 8998, "/route") == written


@pytest.mark.parametrize(("pod_ip", "bound"), [("10.0.0.5", None), ("127.0.0.2", "127.0.0.2"), ("", None)])
def test_a_pod_listens_everywhere_unless_it_shares_a_host(pod_ip: str, bound: str | None) -> None:
    assert bound_to(pod_ip) == bound


@pytest.mark.parametrize(
    ("asked", "devices", "used"),
    [
        pytest.param(Transport.TCP, ("uverbs0",), Transport.TCP, id="TCP asked for is TCP, devices or not"),
        pytest.param(Transport.RDMA, ("uverbs0",), Transport.RDMA, id="RDMA with a device"),
        pytest.param(Transport.RDMA, (), Transport.TCP, id="RDMA without a device runs over TCP and says so"),
        pytest.param(Transport.AUTO, (), Transport.TCP, id="Auto without a device"),
        pytest.param(Transport.AUTO, ("uverbs0",), Transport.RDMA, id="Auto with a device"),
    ],
)
def test_the_transport_in_use_is_by_evidence(asked: Transport, devices: tuple[str, ...], used: Transport) -> None:
    assert transport.in_use(asked, devices=devices) is used


def test_only_verbs_devices_count(tmp_path: Path) -> None:
    for name in ("uverbs1", "uverbs0", "rdma_cm"):
        (tmp_path / name).touch()
    assert transport.rdma_devices(tmp_path) == ("uverbs0", "uverbs1")
    assert transport.rdma_devices(tmp_path / "absent") == ()


async def test_a_request_waits_until_pages_are_given_back() -> None:
    admission, order = Admission(4), list[str]()

    async def second() -> None:
        async with admission.pages(1):
            order.append("second")

    async with admission.pages(4):
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0)
        order.append("first")
    await waiting
    assert order == ["first", "second"]


async def test_beyond_the_queue_there_is_not_even_room_to_wait() -> None:
    admission = Admission(1)

    async def one() -> None:
        async with admission.pages(1):
            pass

    async with admission.pages(1):
        waiting = [asyncio.create_task(one()) for _ in range(MAX_QUEUED)]
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError, match=f"{MAX_QUEUED} requests wait"):
            async with admission.pages(1):
                pass
    await asyncio.gather(*waiting)


def test_a_run_is_summed_up_with_its_failures() -> None:
    moved = {
        "logical_bytes": 100, "reported_bytes": 400, "wire_bytes": 400,
        "replica_factor": 4, "wire_bytes_per_second": 800,
    }  # fmt: skip
    summary = summarise([(0.5, moved), (1.5, moved), (9.0, "no pair")], seconds=2.0)
    assert (summary.requests, summary.failures, summary.errors) == (3, 1, ["no pair"])
    assert (summary.logical_bytes, summary.reported_bytes, summary.wire_bytes) == (200, 800, 800)
    assert (summary.replica_factors, summary.run_bytes_per_second) == ([4], 400.0)
    assert (summary.request_seconds_median, summary.request_seconds_max) == (1.0, 1.5)
