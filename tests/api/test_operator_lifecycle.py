"""Objects that come and go while they are being handled, and an operator that isn't there when they go."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apiserver import Apiserver
from tests.support.operator import Operator, eventually, running_operator, throughout
from tests.support.place import CHILDREN, Place, make_place

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(apiserver: Apiserver) -> Place:
    return make_place(apiserver, "lifecycle")


@pytest.fixture(scope="module")
def operator(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    log = tmp_path_factory.mktemp("operator") / "log"
    with running_operator(place.server.kubeconfig, log, namespace=place.namespace) as running:
        running.wait_active()
        yield running


@pytest.mark.case("E-11")
def test_created_and_deleted_at_once_many_times_leaves_nothing(place: Place, operator: Operator) -> None:
    """The deletions land at every stage of the handling: before it, between two children, after it."""
    for number in range(12):
        place.create(f"flash-{number}")
        place.kubectl("delete", "pdd", f"flash-{number}", "--wait=false")
    for number in range(12):
        eventually(lambda number=number: not place.children(f"flash-{number}"), what=f"nothing of flash-{number}")  # type: ignore[misc]
    assert "Traceback" not in operator.story()
    assert throughout(lambda: operator.metric("pd_operator_queue_depth"), seconds=1) == 0


@pytest.mark.case("E-11")
def test_recreated_at_once_under_the_same_name_gets_children_of_its_own(place: Place, operator: Operator) -> None:
    place.create("again")
    before = place.complete("again")
    place.kubectl("delete", "pdd", "again")
    place.create("again")
    uid = place.get("pdd", "again")["metadata"]["uid"]

    def all_new() -> bool:
        children = place.children("again").values()
        owners = {each["metadata"]["ownerReferences"][0]["uid"] for each in children}
        return len(children) == CHILDREN and owners == {uid}

    eventually(all_new, what="children of the new one only", story=operator.story)
    old = {each["metadata"]["uid"] for each in before.values()}
    assert not old & {each["metadata"]["uid"] for each in place.children("again").values()}
    eventually(lambda: place.condition("again", "TopologyValid") == "True/Valid", what="its status")


@pytest.mark.case("E-11")
def test_children_orphaned_on_purpose_stay_and_are_managed_no_more(place: Place, operator: Operator) -> None:
    place.create("orphaned")
    place.complete("orphaned")
    place.kubectl("delete", "pdd", "orphaned", "--cascade=orphan")
    eventually(lambda: operator.metric("pd_condition", name="orphaned") == 0, what="it is forgotten")
    place.kubectl("scale", "statefulset", "orphaned-prefill", "--replicas=0")
    place.kubectl("delete", "service", "orphaned-decode")
    kept = throughout(lambda: sorted(place.children("orphaned")), seconds=3)
    assert len(kept) == CHILDREN - 1
    assert place.get("statefulset", "orphaned-prefill")["spec"]["replicas"] == 0
    assert not any(each["metadata"].get("ownerReferences") for each in place.children("orphaned").values())


def test_orphans_are_adopted_by_a_new_one_of_their_name(place: Place, operator: Operator) -> None:
    place.create("adopted")
    before = {at: each["metadata"]["uid"] for at, each in place.complete("adopted").items()}
    place.kubectl("delete", "pdd", "adopted", "--cascade=orphan")
    eventually(lambda: operator.metric("pd_condition", name="adopted") == 0, what="it is forgotten")
    place.create("adopted")
    uid = place.get("pdd", "adopted")["metadata"]["uid"]

    def owned() -> bool:
        owners = [each["metadata"].get("ownerReferences") or [{}] for each in place.children("adopted").values()]
        return all(each[0].get("uid") == uid for each in owners)

    eventually(owned, what="all owned by the new one", story=operator.story)
    assert {at: each["metadata"]["uid"] for at, each in place.children("adopted").items()} == before


def test_a_foreground_deletion_is_not_fought(place: Place, operator: Operator) -> None:
    place.create("foreground")
    place.complete("foreground")
    place.kubectl("delete", "pdd", "foreground", "--cascade=foreground", "--timeout=30s")
    assert place.children("foreground") == {}
    assert "Traceback" not in operator.story()


@pytest.mark.case("E-06")
@pytest.mark.case("E-16")
def test_without_an_operator_everything_goes_too(apiserver: Apiserver, tmp_path: Path) -> None:
    place = make_place(apiserver, "no-operator")
    with running_operator(apiserver.kubeconfig, tmp_path / "log", namespace=place.namespace) as operator:
        place.create("v2")
        place.complete("v2")
        assert operator.stop() == 0
    place.kubectl("delete", "pdd", "v2", "--timeout=30s")
    eventually(lambda: not place.children("v2"), what="no children")
    place.create("v3")  # nobody handles it, and it holds nothing up
    apiserver.kubectl("delete", "namespace", place.namespace, "--timeout=60s")


@pytest.mark.case("E-06")
def test_deleted_during_a_restart_is_forgotten_afterwards(place: Place, operator: Operator, tmp_path: Path) -> None:
    place.create("gone-meanwhile")
    place.complete("gone-meanwhile")
    assert operator.stop() == 0
    place.kubectl("delete", "pdd", "gone-meanwhile")
    with running_operator(place.server.kubeconfig, tmp_path / "log", namespace=place.namespace) as restarted:
        restarted.wait_active()
        eventually(lambda: not place.children("gone-meanwhile"), what="no children")
        assert throughout(lambda: restarted.metric("pd_condition", name="gone-meanwhile"), seconds=2) == 0
        events = json.loads(place.kubectl("get", "events.events.k8s.io", "-o", "json"))["items"]
        assert [each for each in events if each["regarding"].get("name") == "gone-meanwhile"] == []
