import asyncio

import pytest

from pdoperator.api.errors import Conflict, Transient
from pdoperator.cluster import kinds
from pdoperator.cluster.gather import parents_of
from pdoperator.cluster.kinds import Kind
from pdoperator.live.state import Key
from tests.support.children import a_service, owned_by
from tests.support.fake_api import FakeClient, FakeServer, refusal


@pytest.mark.parametrize(
    ("kind", "where", "path"),
    [
        pytest.param(kinds.POD, {"namespace": "ns"}, "/api/v1/namespaces/ns/pods", id="the core group"),
        pytest.param(
            kinds.PDDEPLOYMENT, {"namespace": None}, "/apis/pdoperator.io/v1alpha1/pddeployments", id="all namespaces"
        ),
        pytest.param(
            kinds.PDDEPLOYMENT,
            {"namespace": "ns", "name": "v2", "subresource": "status"},
            "/apis/pdoperator.io/v1alpha1/namespaces/ns/pddeployments/v2/status",
            id="a subresource",
        ),
    ],
)
def test_paths(kind: Kind, where: dict[str, str], path: str) -> None:
    assert kind.path(**where) == path


def test_a_kind_outside_the_table_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        kinds.kind_of({"apiVersion": "v1", "kind": "Secret"})


async def test_an_absent_object_is_none_and_an_unserved_kind_is_a_failure() -> None:
    server = FakeServer()
    assert await server.client().get(kinds.SERVICE, namespace="ns", name="x") is None

    async def no_such_path(_: str, path: str) -> None:
        error = refusal(404, path)
        error.body = "404 page not found"
        raise error

    server.before = no_such_path
    with pytest.raises(Transient):
        await server.client().get(kinds.PDDEPLOYMENT, namespace="ns", name="x")


async def test_without_the_lease_nothing_is_written_and_reading_goes_on() -> None:
    server = FakeServer()
    client = server.client(may_write=lambda: False)
    with pytest.raises(Transient, match="the lease may belong to another operator"):
        await client.apply(a_service())
    assert await client.get(kinds.SERVICE, namespace="ns", name="v2-prefill") is None
    assert server.requests == {"GET": 1}


async def test_a_delete_names_the_very_object() -> None:
    server = FakeServer()
    stored = server.put("/api/v1/namespaces/ns/services/v2-prefill", a_service())
    client = server.client()
    await client.delete(kinds.SERVICE, namespace="ns", name="v2-prefill", uid="another")
    assert len(server.objects) == 1
    await client.delete(kinds.SERVICE, namespace="ns", name="v2-prefill", uid=stored["metadata"]["uid"])
    await client.delete(kinds.SERVICE, namespace="ns", name="v2-prefill", uid=stored["metadata"]["uid"])
    assert server.objects == {}


async def test_every_request_is_counted_with_its_result() -> None:
    server, counted = FakeServer(), list[dict[str, str]]()
    client = FakeClient(api=None, count=lambda **each: counted.append(each), server=server)
    await client.create(a_service())
    with pytest.raises(Conflict):
        await client.create(a_service())
    await client.list(kinds.SERVICE, namespace="ns")
    assert counted == [
        {"verb": "create", "resource": "services", "result": "ok"},
        {"verb": "create", "resource": "services", "result": "409"},
        {"verb": "list", "resource": "services", "result": "ok"},
    ]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(TimeoutError(), "no answer in time", id="a hang"),
        pytest.param(ConnectionResetError("reset"), "ConnectionResetError: reset", id="a reset"),
        pytest.param(ValueError("not JSON"), "ValueError: not JSON", id="an answer that is no JSON"),
    ],
)
async def test_what_the_network_does_is_transient(error: Exception, words: str) -> None:
    server = FakeServer()

    async def broken(*_: str) -> None:
        raise error

    server.before = broken
    with pytest.raises(Transient, match=words):
        await server.client().get(kinds.SERVICE, namespace="ns", name="x")


@pytest.mark.looptime
async def test_a_list_of_endless_pages_ends() -> None:
    server = FakeServer()

    class Endless(FakeClient):
        async def _send(self, method: str, path: str, params: object) -> dict[str, object]:  # noqa: ARG002 -- overrides
            await asyncio.sleep(0)
            return {"items": [], "metadata": {"continue": "more"}}

    with pytest.raises(Transient, match="more than 200 pages"):
        await Endless(api=None, count=lambda **_: None, server=server).list(kinds.POD, namespace=None)


@pytest.mark.parametrize(
    ("meta", "names"),
    [
        pytest.param({"labels": {"pdoperator.io/deployment": "v2"}}, ["v2"], id="by label"),
        pytest.param({"ownerReferences": [owned_by("u")]}, ["v2"], id="by owner, the label edited away"),
        pytest.param(
            {"labels": {"pdoperator.io/deployment": "v3"}, "ownerReferences": [owned_by("u")]},
            ["v2", "v3"],
            id="both, when they differ",
        ),
        pytest.param({"ownerReferences": [owned_by("u", kind="ReplicaSet")]}, [], id="another's"),
        pytest.param({}, [], id="nobody's"),
    ],
)
def test_whom_a_child_concerns(meta: dict[str, object], names: list[str]) -> None:
    assert parents_of({"namespace": "ns", **meta}) == tuple(Key("ns", name) for name in names)
