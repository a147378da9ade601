"""What is written for a plan, and what isn't."""

from typing import Any

import pytest

from pdoperator.api.errors import Conflict, Invalid, Transient
from pdoperator.cluster.apply import Applier, fingerprint
from tests.support.children import KEY, UID, a_live, a_service, owned_by
from tests.support.fake_api import FakeServer, refusal

SERVICES = "/api/v1/namespaces/ns/services"


def stored(server: FakeServer) -> list[dict[str, Any]]:
    return [server.objects[path] for path in sorted(server.objects)]


async def test_what_is_absent_is_created_without_force() -> None:
    server = FakeServer()
    assert await Applier(server.client()).apply(a_live(), [a_service()]) == 1
    assert [each["metadata"]["name"] for each in stored(server)] == ["v2-prefill"]
    assert "uid" not in server.bodies[0][2]["metadata"]


async def test_at_rest_nothing_is_written() -> None:
    server = FakeServer()
    applier = Applier(server.client())
    await applier.apply(a_live(), [a_service()])
    for _ in range(10):
        assert await applier.apply(a_live(*stored(server)), [a_service()]) == 0
    assert server.requests["PATCH"] == 1


async def test_a_restarted_operator_applies_each_child_once() -> None:
    server = FakeServer()
    await Applier(server.client()).apply(a_live(), [a_service()])
    restarted = Applier(server.client())
    assert [await restarted.apply(a_live(*stored(server)), [a_service()]) for _ in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(
    ("edit", "writes"),
    [
        pytest.param({"status": {"loadBalancer": {"ingress": []}}}, 0, id="a status update is nobody's edit"),
        pytest.param({"spec": {"ports": [{"port": 1}]}}, 1, id="an edited spec heals"),
        pytest.param({"spec": {"ports": [{"port": 8998}], "type": "NodePort"}}, 1, id="an added field is looked at"),
        pytest.param({"labels": {"pdoperator.io/deployment": "v2"}}, 1, id="a removed label heals"),
        pytest.param({"annotations": {"team": "x"}}, 1, id="an added annotation is looked at once"),
    ],
)
async def test_drift(edit: dict[str, Any], writes: int) -> None:
    server = FakeServer()
    applier = Applier(server.client())
    await applier.apply(a_live(), [a_service()])
    current = server.objects[f"{SERVICES}/v2-prefill"]
    meta = {name: edit.pop(name) for name in ("labels", "annotations") if name in edit}
    server.put(f"{SERVICES}/v2-prefill", {**current, **edit, "metadata": {**current["metadata"], **meta}})
    assert await applier.apply(a_live(*stored(server)), [a_service()]) == writes


async def test_a_deleted_child_is_made_again() -> None:
    server = FakeServer()
    applier = Applier(server.client())
    await applier.apply(a_live(), [a_service()])
    server.objects.clear()
    assert await applier.apply(a_live(), [a_service()]) == 1
    assert len(stored(server)) == 1


async def test_a_changed_plan_is_applied_to_that_very_object() -> None:
    server = FakeServer()
    applier = Applier(server.client())
    await applier.apply(a_live(), [a_service()])
    uid = server.objects[f"{SERVICES}/v2-prefill"]["metadata"]["uid"]
    await applier.apply(a_live(*stored(server)), [a_service(port=9)])
    assert server.bodies[-1][2]["metadata"]["uid"] == uid
    assert server.objects[f"{SERVICES}/v2-prefill"]["spec"] == {"ports": [{"port": 9}]}


@pytest.mark.case("E-11")
async def test_a_child_that_was_orphaned_since_it_was_read_is_left_alone() -> None:
    """Owned again by a parent that is gone, the garbage collector would delete it with its pods."""
    server = FakeServer()
    applier = Applier(server.client())
    await applier.apply(a_live(), [a_service()])
    read = a_live(*(dict(child) for child in stored(server)))
    await server.client().apply(
        {**a_service(), "metadata": {**a_service()["metadata"], "ownerReferences": []}}, force=True
    )
    with pytest.raises(Conflict):
        await applier.apply(read, [a_service(port=9)])
    assert stored(server)[0]["metadata"]["ownerReferences"] == []


@pytest.mark.case("E-16")
async def test_a_child_that_the_plan_no_longer_has_is_pruned() -> None:
    server = FakeServer()
    applier = Applier(server.client())
    await applier.apply(a_live(), [a_service("v2-prefill"), a_service("v2-old")])
    assert await applier.apply(a_live(*stored(server)), [a_service("v2-prefill")]) == 1
    assert [each["metadata"]["name"] for each in stored(server)] == ["v2-prefill"]


@pytest.mark.parametrize(
    "child",
    [
        pytest.param(a_service("x", owner=None), id="an orphan with our labels"),
        pytest.param(a_service("x", owner="uid-other"), id="another PDDeployment's"),
        pytest.param(a_service("x", deletionTimestamp="2026-01-01T00:00:00Z"), id="one that is going already"),
    ],
)
async def test_what_is_not_ours_or_going_is_not_pruned(child: dict[str, Any]) -> None:
    server = FakeServer()
    server.put(f"{SERVICES}/x", child)
    assert await Applier(server.client()).apply(a_live(*stored(server)), []) == 0
    assert server.requests["DELETE"] == 0


@pytest.mark.parametrize(
    ("child", "words"),
    [
        pytest.param(
            {**a_service(owner=None), "metadata": {"namespace": "ns", "name": "v2-prefill"}},
            "Service v2-prefill exists and isn't managed by pd-operator; rename it or the PDDeployment v2",
            id="a user's own Service",
        ),
        pytest.param(
            a_service(ownerReferences=[owned_by("uid-x", kind="Knative", name="kn")]),
            "Service v2-prefill exists and is controlled by Knative kn; rename it or the PDDeployment v2",
            id="another controller's",
        ),
    ],
)
async def test_a_name_that_is_taken_is_refused_before_anything_is_written(child: dict[str, Any], words: str) -> None:
    server = FakeServer()
    server.put(f"{SERVICES}/v2-prefill", child)
    before = stored(server)
    with pytest.raises(Invalid) as refused:
        await Applier(server.client()).apply(a_live(), [a_service("v2-decode"), a_service("v2-prefill")])
    assert (refused.value.field, refused.value.message) == ("metadata.name", words)
    assert stored(server) == before


async def test_an_orphan_of_this_name_is_adopted() -> None:
    server = FakeServer()
    server.put(f"{SERVICES}/v2-prefill", a_service(owner=None))
    assert await Applier(server.client()).apply(a_live(*stored(server)), [a_service()]) == 1
    assert stored(server)[0]["metadata"]["ownerReferences"][0]["uid"] == UID


@pytest.mark.parametrize(
    "child",
    [
        pytest.param(a_service(owner="uid-of-before"), id="of a deleted PDDeployment of the same name"),
        pytest.param(a_service(deletionTimestamp="2026-01-01T00:00:00Z"), id="ours, but being deleted"),
    ],
)
async def test_a_child_that_goes_is_waited_for(child: dict[str, Any]) -> None:
    server = FakeServer()
    server.put(f"{SERVICES}/v2-prefill", child)
    with pytest.raises(Transient):
        await Applier(server.client()).apply(a_live(*stored(server)), [a_service()])
    assert server.requests["PATCH"] == 0


async def test_what_failed_is_tried_again_and_what_went_well_is_not() -> None:
    server = FakeServer()
    applier = Applier(server.client())
    plan = [a_service("v2-a"), a_service("v2-b")]

    async def broken(method: str, path: str) -> None:
        if method == "PATCH" and path.endswith("v2-b"):
            raise refusal(503, path)

    server.before = broken
    with pytest.raises(Transient):
        await applier.apply(a_live(), plan)
    server.before = _fine
    assert await applier.apply(a_live(*stored(server)), plan) == 1


async def _fine(method: str, path: str) -> None:
    pass


async def test_what_is_forgotten_is_applied_anew() -> None:
    server = FakeServer()
    applier = Applier(server.client())
    await applier.apply(a_live(), [a_service()])
    applier.forget(KEY)
    assert await applier.apply(a_live(*stored(server)), [a_service()]) == 1


@pytest.mark.parametrize("field", ["resourceVersion", "managedFields", "generation"])
def test_bookkeeping_is_not_in_the_fingerprint(field: str) -> None:
    assert fingerprint(a_service(port=1, **{field: "1"})) == fingerprint(a_service(port=1, **{field: "2"}))
