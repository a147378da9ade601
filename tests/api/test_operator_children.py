"""The operator's children on a real kube-apiserver: made, owned, healed, pruned, and gone with their parent."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apiserver import Apiserver
from tests.support.operator import Operator, eventually, running_operator
from tests.support.place import Place, make_place

pytestmark = pytest.mark.slow

CHILDREN_OF_V2 = {
    "ServiceAccount/v2",
    "NetworkPolicy/v2",
    "NetworkPolicy/v2-router",
    "Service/v2-prefill",
    "Service/v2-decode",
    "Service/v2-router",
    "PodDisruptionBudget/v2-prefill",
    "PodDisruptionBudget/v2-decode",
    "StatefulSet/v2-prefill",
    "StatefulSet/v2-decode",
    "Deployment/v2-router",
}


@pytest.fixture(scope="module")
def place(apiserver: Apiserver) -> Place:
    return make_place(apiserver, "children")


@pytest.fixture(scope="module")
def operator(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    log = tmp_path_factory.mktemp("operator") / "log"
    with running_operator(place.server.kubeconfig, log, namespace=place.namespace) as running:
        place.create("v2")
        place.complete("v2")
        yield running


@pytest.mark.case("E-16")
@pytest.mark.usefixtures("operator")
def test_all_children_exist_and_belong_to_the_parent(place: Place) -> None:
    children = place.complete("v2")
    assert set(children) == CHILDREN_OF_V2
    uid = place.get("pdd", "v2")["metadata"]["uid"]
    for child in children.values():
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("PDDeployment", uid, True)


@pytest.mark.case("E-06")
@pytest.mark.case("E-08")
@pytest.mark.usefixtures("operator")
def test_the_parent_gets_a_status_and_nothing_else(place: Place) -> None:
    parent = place.get("pdd", "v2")["metadata"]
    assert "finalizers" not in parent
    assert "annotations" not in parent
    ours = [(each["manager"], each.get("subresource")) for each in parent["managedFields"]]
    assert sorted(ours, key=str) == [("kubectl", None), ("pd-operator", "status")]


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("child", sorted(CHILDREN_OF_V2))
def test_a_deleted_child_comes_back(place: Place, child: str) -> None:
    kind, _, name = child.partition("/")
    before = place.complete("v2")[child]["metadata"]["uid"]
    place.kubectl("delete", kind, name, "--cascade=orphan" if kind == "StatefulSet" else "--cascade=background")
    eventually(
        lambda: place.get(kind, name).get("metadata", {}).get("uid") not in {None, before}, what=f"a new {child}"
    )


LABEL = {"metadata": {"labels": {"pdoperator.io/deployment": "elsewhere"}}}


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize(
    ("child", "patch"),
    [
        pytest.param("StatefulSet/v2-prefill", {"spec": {"replicas": 7}}, id="replicas of a StatefulSet"),
        pytest.param(
            "StatefulSet/v2-decode",
            {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}},
            id="a field of a pod template",
        ),
        pytest.param("Deployment/v2-router", {"spec": {"replicas": 5}}, id="replicas of the router"),
        pytest.param("Service/v2-prefill", {"spec": {"publishNotReadyAddresses": False}}, id="a field of a Service"),
        pytest.param("Service/v2-router", {"spec": {"selector": {"pdoperator.io/role": "decode"}}}, id="a selector"),
        pytest.param("NetworkPolicy/v2", {"spec": {"podSelector": None}}, id="a NetworkPolicy opened to all pods"),
        pytest.param(
            "PodDisruptionBudget/v2-decode", {"spec": {"maxUnavailable": 0}}, id="a budget that blocks drains"
        ),
        pytest.param("ServiceAccount/v2", {"metadata": {"labels": {"app.kubernetes.io/name": "x"}}}, id="a label"),
        pytest.param("ServiceAccount/v2", {"metadata": {"ownerReferences": None}}, id="the owner reference"),
        pytest.param("Service/v2-decode", LABEL, id="the label by which it is found"),
    ],
)
def test_an_edited_child_heals(place: Place, child: str, patch: dict[str, object]) -> None:
    kind, _, name = child.partition("/")
    wanted = asked(place.complete("v2")[child])
    place.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(patch))
    eventually(lambda: asked(place.get(kind, name)) == wanted, what=f"{child} as it was")


def asked(obj: dict[str, object]) -> dict[str, object]:
    """What an object asks for."""
    meta = obj["metadata"]
    assert isinstance(meta, dict)
    kept = {name: meta.get(name) for name in ("labels", "ownerReferences")}
    return {**{name: part for name, part in obj.items() if name not in {"metadata", "status"}}, **kept}


@pytest.mark.case("E-16")
def test_a_deleted_parent_takes_all_children_with_it(place: Place, operator: Operator) -> None:
    place.create("short")
    place.complete("short")
    place.kubectl("delete", "pdd", "short")
    eventually(lambda: not place.children("short"), what="no children")
    eventually(lambda: operator.metric("pd_condition", name="short") == 0, what="no series of it")


@pytest.mark.case("E-06")
def test_a_namespace_with_everything_in_it_goes(apiserver: Apiserver, tmp_path: Path) -> None:
    place = make_place(apiserver, "children-go")
    with running_operator(apiserver.kubeconfig, tmp_path / "log", namespace=place.namespace) as operator:
        place.create("v2")
        place.complete("v2")
        apiserver.kubectl("delete", "namespace", place.namespace, "--timeout=60s")
        assert operator.page("/healthz") == "ok\n"
