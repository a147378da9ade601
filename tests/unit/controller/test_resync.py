import asyncio

import pytest

from pdoperator.controller.queue import Queue
from pdoperator.controller.resync import Resync
from pdoperator.live.state import Key
from tests.support.fake_api import FakeServer, refusal

pytestmark = pytest.mark.looptime

ALL = "/apis/pdoperator.io/v1alpha1/pddeployments"
IN_NS = "/apis/pdoperator.io/v1alpha1/namespaces/ns/pddeployments"


def a_resync(server: FakeServer, *known: Key, namespaces: tuple[str, ...] = ()) -> Resync:
    now = asyncio.get_running_loop().time
    return Resync(
        client=server.client(),
        queue=Queue(now=now, random=lambda: 0.5),
        known=lambda: known,
        namespaces=namespaces,
        interval_seconds=600,
        now=now,
        random=lambda: 0.5,
    )


def a_parent(name: str, namespace: str = "ns") -> dict[str, object]:
    return {"metadata": {"namespace": namespace, "name": name}}


async def queued(resync: Resync) -> list[str]:
    found = []
    while resync.queue.depth:
        async with resync.queue.claim() as key:
            found.append(f"{key.namespace}/{key.name}")
    return found


async def test_everything_that_exists_is_looked_at() -> None:
    server = FakeServer()
    for name in ("b", "a"):
        server.put(f"{ALL}/{name}", a_parent(name))
    resync = a_resync(server)
    await resync.once()
    assert await queued(resync) == ["ns/a", "ns/b"]


async def test_what_is_remembered_and_gone_is_looked_at_too() -> None:
    """A watch that broke may never have told of its deletion."""
    resync = a_resync(FakeServer(), Key("ns", "ghost"))
    await resync.once()
    assert await queued(resync) == ["ns/ghost"]


async def test_with_namespaces_only_those_are_listed() -> None:
    server = FakeServer()
    server.put(f"{IN_NS}/mine", a_parent("mine"))
    server.put(f"{ALL}/other", a_parent("other", "elsewhere"))
    resync = a_resync(server, namespaces=("ns",))
    await resync.once()
    assert await queued(resync) == ["ns/mine"]


async def test_a_list_per_interval() -> None:
    server = FakeServer()
    running = asyncio.create_task(a_resync(server).run())
    await asyncio.sleep(1801)
    assert server.requests["GET"] == 4
    running.cancel()


async def test_age_grows_while_lists_fail_and_they_are_retried_with_a_cap() -> None:
    server, loop = FakeServer(), asyncio.get_running_loop()
    resync = a_resync(server)
    assert resync.age is None

    async def down_for_a_while(_: str, path: str) -> None:
        if loop.time() > 1 and loop.time() < 2000:
            raise refusal(503, path)

    server.before = down_for_a_while
    running = asyncio.create_task(resync.run())
    await asyncio.sleep(1999)
    assert resync.age == pytest.approx(1999)
    assert resync.listed.is_set()
    await asyncio.sleep(40)
    assert resync.age is not None
    assert resync.age < 40
    running.cancel()
