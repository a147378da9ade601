"""What the operator must not touch, and what it says instead."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.apiserver import Apiserver
from tests.support.crd import install_crd
from tests.support.operator import Operator, eventually, running_operator, throughout
from tests.support.place import CHILDREN, Place, make_place

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(apiserver: Apiserver) -> Place:
    return make_place(apiserver, "refusals")


@pytest.fixture(scope="module")
def operator(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    log = tmp_path_factory.mktemp("operator") / "log"
    with running_operator(place.server.kubeconfig, log, namespace=place.namespace) as running:
        running.wait_active()
        yield running


def message(place: Place, name: str, kind: str) -> str:
    conditions = place.get("pdd", name)["status"]["conditions"]
    found: str = next(each["message"] for each in conditions if each["type"] == kind)
    return found


def a_foreign_service(name: str) -> dict[str, object]:
    spec = {"selector": {"app": "mine"}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


@contextlib.contextmanager
def a_schema_without_rules(server: Apiserver) -> Iterator[None]:
    """The CRD with none of its CEL rules."""
    lax = without_rules(server.get("crd", "pddeployments.pdoperator.io"))
    server.kubectl("replace", "-f", "-", stdin=json.dumps(lax))
    try:
        yield
    finally:
        install_crd(server)


def without_rules(node: Any) -> Any:  # noqa: ANN401 -- any JSON
    if isinstance(node, dict):
        return {name: without_rules(each) for name, each in node.items() if name != "x-kubernetes-validations"}
    return [without_rules(each) for each in node] if isinstance(node, list) else node


@pytest.mark.usefixtures("operator")
def test_a_users_own_service_of_that_name_is_left_alone_and_nothing_else_is_made(place: Place) -> None:
    place.apply(a_foreign_service("taken-prefill"))
    before = place.get("service", "taken-prefill")
    place.create("taken")
    eventually(lambda: place.condition("taken", "TopologyValid").startswith("False/"), what="a refusal")
    assert "Service taken-prefill exists and isn't managed by pd-operator" in message(place, "taken", "TopologyValid")
    assert throughout(lambda: place.get("service", "taken-prefill"), seconds=2) == before
    assert place.children("taken") == {}


def test_a_spec_that_slips_through_admission_leaves_running_children_alone(place: Place, operator: Operator) -> None:
    """As after an upgrade: stored by a schema that allowed it, read by an operator that doesn't."""
    place.create("slipped")
    before = {at: each["metadata"]["uid"] for at, each in place.complete("slipped").items()}
    sizes = {"prefill": {"parallelism": {"tensor": 4, "context": 2}}, "decode": {"parallelism": {"tensor": 7}}}
    patch = ("patch", "pdd", "slipped", "--type=merge", "-p", json.dumps({"spec": sizes}))
    with a_schema_without_rules(place.server):
        eventually(lambda: "patched" in place.kubectl(*patch, check=False), what="the lax schema")
    eventually(lambda: place.condition("slipped", "TopologyValid").startswith("False/"), what="a refusal")
    words = message(place, "slipped", "TopologyValid")
    assert "2" in words
    assert "7" in words
    kept = throughout(
        lambda: {at: each["metadata"]["uid"] for at, each in place.children("slipped").items()}, seconds=2
    )
    assert kept == before
    assert place.get("pdd", "slipped")["status"]["observedGeneration"] == 2
    assert operator.metric("pd_condition", name="slipped", type="TopologyValid", status="False") == 1
    events = json.loads(place.kubectl("get", "events.events.k8s.io", "-o", "json"))["items"]
    told = [each for each in events if each["regarding"].get("name") == "slipped"]
    assert [(each["type"], each["reportingController"]) for each in told] == [("Warning", "pdoperator.io/pd-operator")]


def test_a_corrected_spec_recovers_by_itself(place: Place, operator: Operator) -> None:
    place.create("slipped")
    eventually(
        lambda: place.condition("slipped", "TopologyValid") == "True/Valid", what="valid again", story=operator.story
    )
    assert len(place.children("slipped")) == CHILDREN


def test_a_failing_object_delays_no_other(place: Place, operator: Operator) -> None:
    place.create("healthy")
    place.complete("healthy")
    assert place.condition("taken", "TopologyValid").startswith("False/")
    assert operator.metric("pd_operator_queue_depth") == 0


def test_a_foreign_pod_with_our_labels_is_read_and_not_touched(place: Place, operator: Operator) -> None:
    labels = {
        "app.kubernetes.io/managed-by": "pd-operator",
        "pdoperator.io/deployment": "healthy",
        "pdoperator.io/role": "prefill",
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "foreign", "labels": labels},
        "spec": {"containers": [{"name": "x", "image": "registry.invalid/x:1"}]},
    }
    place.complete("healthy")
    place.apply(pod)
    before = place.get("pod", "foreign")["metadata"]["resourceVersion"]
    assert throughout(lambda: place.get("pod", "foreign")["metadata"]["resourceVersion"], seconds=2) == before
    assert operator.metric("pd_operator_api_writes_total", resource="pods") == 0
