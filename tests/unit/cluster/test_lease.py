"""The Lease on simulated time: who may act, and when."""

import asyncio

import pytest

from pdoperator.cluster.lease import Lease, Lost
from tests.support.fake_api import FakeServer, refusal

pytestmark = pytest.mark.looptime

PATH = "/apis/coordination.k8s.io/v1/namespaces/system/leases/pd-operator"


def a_lease(server: FakeServer, identity: str) -> Lease:
    now = asyncio.get_running_loop().time
    return Lease(client=server.client(), namespace="system", name="pd-operator", identity=identity, now=now)


def holder(server: FakeServer) -> str:
    found: str = server.objects[PATH]["spec"]["holderIdentity"]
    return found


async def test_a_free_lease_is_taken_at_once() -> None:
    server = FakeServer()
    lease = a_lease(server, "a")
    await lease.acquire()
    assert (lease.held, holder(server)) == (True, "a")
    assert asyncio.get_running_loop().time() == 0


async def test_a_standby_acts_only_a_whole_duration_after_the_holder_fell_silent() -> None:
    server, loop = FakeServer(), asyncio.get_running_loop()
    first, second = a_lease(server, "a"), a_lease(server, "b")
    await first.acquire()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(second.acquire())
        keeping = asyncio.create_task(first.keep())
        await asyncio.sleep(100)
        assert not waiting.done()
        keeping.cancel()  # as kill -9 would: nothing is given back
        stopped = loop.time()
    assert 15 <= loop.time() - stopped <= 25  # the duration, plus the time between two looks at most
    assert holder(server) == "b"
    assert not first.held


async def test_a_holder_of_a_released_lease_hands_over_within_one_look() -> None:
    server, loop = FakeServer(), asyncio.get_running_loop()
    first, second = a_lease(server, "a"), a_lease(server, "b")
    await first.acquire()
    waiting = asyncio.create_task(second.acquire())
    await asyncio.sleep(7)
    await first.release()
    released = loop.time()
    await waiting
    assert loop.time() - released <= 5
    assert not first.held


async def test_clocks_of_two_machines_are_never_compared() -> None:
    """A holder whose wall clock is years off, as renewTime shows it, still holds while it renews."""
    server = FakeServer()
    first, second = a_lease(server, "a"), a_lease(server, "b")
    await first.acquire()
    waiting = asyncio.create_task(second.acquire())
    for _ in range(20):
        await asyncio.sleep(5)
        spec = {**server.objects[PATH]["spec"], "renewTime": "1999-01-01T00:00:00.000000Z"}
        server.put(PATH, {**server.objects[PATH], "spec": spec})
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize(
    "failure", [pytest.param("refuses", id="an API server that refuses"), pytest.param("hangs", id="one that hangs")]
)
async def test_a_holder_stops_before_anybody_else_may_act(failure: str) -> None:
    server, loop = FakeServer(), asyncio.get_running_loop()
    lease = a_lease(server, "a")
    await lease.acquire()

    async def broken(_: str, path: str) -> None:
        if failure == "hangs":
            await asyncio.sleep(3600)
        raise refusal(503, path)

    server.before = broken
    with pytest.raises(Lost, match="lease system/pd-operator not renewed within 10 s"):
        await lease.keep()
    assert loop.time() <= 15
    assert not lease.held


async def test_a_short_outage_costs_nothing() -> None:
    server = FakeServer()
    lease = a_lease(server, "a")
    await lease.acquire()

    async def broken(_: str, path: str) -> None:
        if 4 < asyncio.get_running_loop().time() < 9:
            raise refusal(503, path)

    server.before = broken
    keeping = asyncio.create_task(lease.keep())
    await asyncio.sleep(60)
    assert not keeping.done()
    assert lease.held
    keeping.cancel()


async def test_held_turns_false_by_itself_when_the_loop_was_blocked() -> None:
    lease = a_lease(FakeServer(), "a")
    await lease.acquire()
    await asyncio.sleep(10)  # nobody renewed
    assert not lease.held


async def test_of_two_that_write_at_once_one_wins() -> None:
    server = FakeServer()
    leases = [a_lease(server, name) for name in ("a", "b", "c")]
    tasks = [asyncio.create_task(lease.acquire()) for lease in leases]
    await asyncio.sleep(1)
    assert [lease.held for lease in leases].count(True) == 1
    for task in tasks:
        task.cancel()


async def test_a_lease_taken_by_another_while_cut_off_is_not_stolen_back() -> None:
    server = FakeServer()
    lease = a_lease(server, "a")
    await lease.acquire()
    server.put(PATH, {**server.objects[PATH], "spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}})
    with pytest.raises(Lost):
        await lease.keep()
    assert holder(server) == "b"


async def test_transitions_count_changes_of_the_holder_only() -> None:
    server = FakeServer()
    first = a_lease(server, "a")
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    await asyncio.sleep(30)
    keeping.cancel()
    assert server.objects[PATH]["spec"]["leaseTransitions"] == 0
    await first.release()
    await a_lease(server, "b").acquire()
    assert server.objects[PATH]["spec"]["leaseTransitions"] == 1
