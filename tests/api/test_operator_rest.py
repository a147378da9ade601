"""At rest the operator writes nothing but its Lease: counted by itself, and seen in every resourceVersion."""

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
    return make_place(apiserver, "rest")


@pytest.fixture(scope="module")
def operator(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """One that looks at everything again each second: ten forced resyncs take ten seconds."""
    log = tmp_path_factory.mktemp("operator") / "log"
    with running_operator(place.server.kubeconfig, log, namespace=place.namespace, PD_RESYNC_SECONDS="1") as running:
        for name in ("a", "b"):
            place.create(name)
            place.complete(name)
        settle(running)
        yield running


def settle(operator: Operator) -> None:
    """Until a second has passed without a write: the workload controllers have said what they had to say."""
    seen = [-1.0]

    def quiet() -> bool:
        seen.append(operator.writes())
        return len(seen) > 12 and len(set(seen[-12:])) == 1

    eventually(quiet, what="no more writes", story=operator.story)


@pytest.mark.case("E-12")
def test_ten_resyncs_write_nothing(place: Place, operator: Operator) -> None:
    rounds = operator.metric("pd_operator_reconciles_total", result="ok")
    versions = {name: place.versions(name) for name in ("a", "b")}
    throughout(operator.writes, seconds=11)
    assert operator.metric("pd_operator_reconciles_total", result="ok") - rounds >= 20  # two objects, ten resyncs
    assert {name: place.versions(name) for name in ("a", "b")} == versions


def test_no_reconcile_failed_on_the_way(operator: Operator) -> None:
    bad = ("invalid", "bug", "unexpected")
    assert [operator.metric("pd_operator_reconciles_total", result=each) for each in bad] == [0, 0, 0]


@pytest.mark.case("E-08")
def test_the_stored_status_is_what_was_written(place: Place, operator: Operator) -> None:
    """Nothing of it is pruned by the schema, and applying it again is no change at all."""
    stored = place.get("pdd", "a")
    identity = {name: stored["metadata"][name] for name in ("name", "namespace", "uid")}
    again = {
        "apiVersion": stored["apiVersion"],
        "kind": stored["kind"],
        "metadata": identity,
        "status": stored["status"],
    }
    dry = json.loads(
        place.kubectl(
            "apply", "--server-side", "--field-manager=pd-operator", "--subresource=status", "--dry-run=server",
            "--validate=strict", "-o", "json", "-f", "-", stdin=json.dumps(again),
        )
    )  # fmt: skip
    assert dry["status"] == stored["status"]
    assert dry["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]
    applied = [each for each in stored["metadata"]["managedFields"] if each["manager"] == "pd-operator"]
    assert set(applied[0]["fieldsV1"]["f:status"]) - {"."} == {f"f:{name}" for name in stored["status"]}
    assert "nconsisten" not in operator.story()


def test_a_restart_changes_nothing_and_looks_at_each_child_once(
    place: Place, operator: Operator, tmp_path: Path
) -> None:
    before = {name: place.versions(name) for name in ("a", "b")}
    assert operator.stop() == 0
    with running_operator(place.server.kubeconfig, tmp_path / "log", namespace=place.namespace) as restarted:
        restarted.wait_active()
        eventually(lambda: restarted.writes() >= 2 * CHILDREN, what="all children applied", story=restarted.story)
        assert throughout(restarted.writes, seconds=3) == 2 * CHILDREN
        assert restarted.metric("pd_operator_api_writes_total", resource="pddeployments") == 0
        assert {name: place.versions(name) for name in ("a", "b")} == before
