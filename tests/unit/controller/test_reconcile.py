"""One reconcile from end to end, over an API server in memory that fails where a test says so."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pdoperator.api.errors import Invalid, Transient
from pdoperator.cluster.apply import Applier
from pdoperator.cluster.events import Events
from pdoperator.controller.objects import Objects
from pdoperator.controller.observer import Observer
from pdoperator.controller.queue import Queue
from pdoperator.controller.reconcile import Reconciler
from pdoperator.live.state import Key
from pdoperator.plan.plan import PlanSettings
from tests.support.builders import a_pddeployment, sizes
from tests.support.fake_api import FakeServer, refusal

KEY = Key("ns", "v2")
PARENT = "/apis/pdoperator.io/v1alpha1/namespaces/ns/pddeployments/v2"
CHILDREN = 11


def a_reconciler(server: FakeServer) -> Reconciler:
    client = server.client()
    queue: Queue[Key] = Queue(now=lambda: 0.0, random=lambda: 0.5)
    return Reconciler(
        client=client,
        applier=Applier(client),
        observer=Observer(scraper=None, due=queue, changed=queue.add, scraped=lambda _: None),  # type: ignore[arg-type]
        events=Events(client=client, now=lambda: 0.0, instance="test"),
        objects=Objects(),
        plan=PlanSettings(worker_image="registry.example/pd-worker:1"),
        now=lambda: "2026-01-01T00:00:00Z",
    )


def a_server(**spec: Any) -> FakeServer:  # noqa: ANN401 -- any field of the spec
    server = FakeServer()
    store(server, **spec)
    return server


def store(server: FakeServer, *, generation: int = 1, deleting: bool = False, **spec: object) -> None:
    parent = a_pddeployment("v2", **spec)
    parent["metadata"] |= {"namespace": "ns", "generation": generation}
    if deleting:
        parent["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    server.put(PARENT, parent)


def status(server: FakeServer) -> dict[str, Any]:
    """The status written last."""
    found: dict[str, Any] = server.objects[f"{PARENT}/status"]["status"]
    return found


def condition(server: FakeServer, kind: str) -> tuple[str, str]:
    found = next(each for each in status(server)["conditions"] if each["type"] == kind)
    return found["status"], found["message"]


def children(server: FakeServer) -> set[str]:
    own = ("/pddeployments/", "/events/")
    return {path for path in server.objects if not any(part in path for part in own)}


async def test_the_first_round_makes_everything_and_says_so() -> None:
    server = a_server()
    assert await a_reconciler(server).reconcile(KEY) is True
    assert len(children(server)) == CHILDREN
    assert status(server)["topology"]["expectedReplicaFactor"] == 4
    assert status(server)["observedGeneration"] == 1


async def test_what_is_gone_is_forgotten_without_a_write() -> None:
    server = a_server()
    reconciler = a_reconciler(server)
    await reconciler.reconcile(KEY)
    del server.objects[PARENT]
    server.requests.clear()
    assert await reconciler.reconcile(KEY) is False
    assert set(server.requests) == {"GET"}
    assert reconciler.objects.keys == ()


@pytest.mark.case("E-11")
async def test_what_is_being_deleted_gets_no_new_children() -> None:
    server = FakeServer()
    store(server, deleting=True)
    assert await a_reconciler(server).reconcile(KEY) is False
    assert children(server) == set()


async def test_a_status_that_is_so_already_is_not_written() -> None:
    server = a_server()
    reconciler = a_reconciler(server)
    await reconciler.reconcile(KEY)
    await reconciler.reconcile(KEY)  # the children are live now
    server.put(PARENT, {**server.objects[PARENT], "status": status(server)})
    await reconciler.reconcile(KEY)
    server.put(PARENT, {**server.objects[PARENT], "status": status(server)})
    server.requests.clear()
    await reconciler.reconcile(KEY)
    assert set(server.requests) == {"GET"}


async def test_an_invalid_spec_makes_nothing_and_tells_why() -> None:
    server = a_server(prefill=sizes(4, context=3))
    reconciler = a_reconciler(server)
    assert await reconciler.reconcile(KEY) is True  # done: a retry would change nothing
    assert children(server) == set()
    answer, words = condition(server, "TopologyValid")
    assert answer == "False"
    assert "tensor 4 is not a multiple of context 3" in words
    assert server.objects[next(path for path in server.objects if "/events/" in path)]["type"] == "Warning"


async def test_an_invalid_update_leaves_what_runs() -> None:
    server = a_server()
    reconciler = a_reconciler(server)
    await reconciler.reconcile(KEY)
    before = {path: server.objects[path] for path in children(server)}
    store(server, generation=2, prefill=sizes(4, context=3))
    await reconciler.reconcile(KEY)
    assert {path: server.objects[path] for path in children(server)} == before
    assert status(server)["observedGeneration"] == 2


def failing(method: str, part: str, code: int) -> Callable[[str, str], Awaitable[None]]:
    async def before(asked: str, path: str) -> None:
        if asked == method and part in path:
            raise refusal(code, path)

    return before


async def test_a_failure_to_apply_reaches_the_status_and_is_retried() -> None:
    server = a_server()
    server.before = failing("PATCH", "/statefulsets/", 503)
    with pytest.raises(Transient):
        await a_reconciler(server).reconcile(KEY)
    answer, words = condition(server, "Progressing")
    assert answer in {"True", "False"}
    assert "503" in words


async def test_a_field_that_the_api_server_refuses_is_the_users_to_solve() -> None:
    server = a_server()
    server.before = failing("PATCH", "/statefulsets/v2-prefill", 422)
    with pytest.raises(Invalid):
        await a_reconciler(server).reconcile(KEY)
    assert condition(server, "TopologyValid")[0] == "False"


async def test_a_conflict_is_no_news() -> None:
    server = a_server()
    server.before = failing("PATCH", "/services/", 409)
    with pytest.raises(Exception, match="409"):
        await a_reconciler(server).reconcile(KEY)
    assert "409" not in str(status(server))


async def test_an_event_that_cannot_be_posted_fails_nothing() -> None:
    server = a_server(prefill=sizes(4, context=3))
    server.before = failing("POST", "/events", 403)
    assert await a_reconciler(server).reconcile(KEY) is True
    assert condition(server, "TopologyValid")[0] == "False"


@pytest.mark.case("E-11")
async def test_deleted_before_its_status_was_written_is_forgotten() -> None:
    server = a_server()
    server.before = failing("PATCH", "/pddeployments/v2/status", 404)
    reconciler = a_reconciler(server)
    await reconciler.reconcile(KEY)
    assert reconciler.objects.keys == ()
    assert f"{PARENT}/status" not in server.objects


async def test_with_verification_off_nothing_is_watched() -> None:
    server = a_server(verification={"source": "None"})
    reconciler = a_reconciler(server)
    await reconciler.reconcile(KEY)
    assert reconciler.observer._watched == {}
    assert condition(server, "ReplicaFactorVerified")[0] == "Unknown"
