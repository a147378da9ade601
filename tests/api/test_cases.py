"""Public reports about what an operator does to its objects, on a real API server.

docs/reference/cases.md says what each is about.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdoperator.controller.settings import RunSettings
from pdoperator.plan.plan import PlanSettings
from tests.support.apiserver import Apiserver
from tests.support.builders import a_pddeployment, changed
from tests.support.expiring_proxy import running_expiring_proxy
from tests.support.operator import Operator, eventually, running_operator
from tests.support.place import CHILDREN, Place, make_place


@pytest.fixture(scope="module")
def place(apiserver: Apiserver) -> Place:
    return make_place(apiserver, "cases")


@pytest.fixture(scope="module")
def operator(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """One that logs everything."""
    log = tmp_path_factory.mktemp("operator") / "log"
    with running_operator(place.server.kubeconfig, log, namespace=place.namespace, PD_LOG_LEVEL="DEBUG") as running:
        running.wait_active()
        yield running


def whole_log(operator: Operator) -> str:
    return operator.log.read_text(encoding="utf-8")


@pytest.mark.case("E-05")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("spec.decode.parallelism.tensor", "8", id="text for a number"),
        pytest.param("spec.decode.parallelism.tensor", 0, id="no rank"),
        pytest.param("spec.decode.replicas", -1, id="negative replicas"),
        pytest.param("spec.transfer.backend", "ucx", id="no such backend"),
        pytest.param("spec.prefill.template.resources.limits", {"memory": "400m"}, id="memory in thousandths"),
    ],
)
def test_a_refusal_is_an_http_422(place: Place, path: str, value: object) -> None:
    text = json.dumps(changed(a_pddeployment("refused"), path, value))
    arguments = ("create", "--validate=ignore", "-v=6", "-n", place.namespace, "-f", "-")
    refused = place.server.kubectl(*arguments, stdin=text, check=False)
    assert refused.returncode != 0
    assert "422 Unprocessable Entity" in refused.stderr
    assert place.get("pdd", "refused") == {}


@pytest.mark.case("E-01")
def test_a_model_name_with_a_slash_gets_all_its_objects(place: Place, operator: Operator) -> None:
    name = "meta-llama/Llama-3.2-3B-Instruct"
    place.apply(changed(a_pddeployment("llama"), "spec.model.name", name))
    children = place.complete("llama")
    assert children["StatefulSet/llama-prefill"]["metadata"]["annotations"]["pdoperator.io/model"] == name
    assert operator.metric("pd_operator_reconciles_total", result="invalid") == 0


@pytest.mark.case("E-08")
def test_create_update_and_delete_lose_nothing_and_keep_nothing_in_the_object(place: Place, operator: Operator) -> None:
    """No progress is kept in the object: there is none to keep, as each round starts from what is there."""
    place.create("told")
    place.complete("told")
    place.create("told", decode={"replicas": 0, "parallelism": {"tensor": 2}})
    eventually(lambda: place.get("pdd", "told")["status"]["decode"]["summary"] == "0/0", what="the update told")
    stored = place.get("pdd", "told")
    assert {"annotations", "finalizers"} & set(stored["metadata"]) == set()
    assert stored["status"]["observedGeneration"] == 2
    place.kubectl("delete", "pdd", "told")
    eventually(lambda: not place.children("told"), what="no children")
    assert "nconsisten" not in whole_log(operator)


@pytest.mark.case("E-08")
def test_what_cannot_be_done_yet_is_tried_again_by_a_restarted_operator(
    place: Place, operator: Operator, tmp_path: Path
) -> None:
    """How often it was tried is kept nowhere: a new operator begins with short waits, and the status has the reason."""
    foreign = {"selector": {"app": "mine"}, "ports": [{"port": 80}]}
    place.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "late-prefill"}, "spec": foreign})
    place.create("late")
    eventually(lambda: place.condition("late", "TopologyValid").startswith("False/"), what="a refusal")
    assert operator.stop() == 0
    place.kubectl("delete", "service", "late-prefill")
    with running_operator(place.server.kubeconfig, tmp_path / "log", namespace=place.namespace):
        place.complete("late")


@pytest.mark.case("E-11")
def test_deleted_200_ms_after_its_creation_leaves_nothing(place: Place, tmp_path: Path) -> None:
    with running_operator(place.server.kubeconfig, tmp_path / "log", namespace=place.namespace) as operator:
        operator.wait_active()
        place.create("brief")
        time.sleep(0.2)  # what the report says
        place.kubectl("delete", "pdd", "brief", "--wait=false")
        eventually(lambda: not place.get("pdd", "brief"), what="no PDDeployment")
        # One that was under way may come after the deletion, and goes as its owner does.
        seen: list[int] = []
        eventually(lambda: _rests_at_none(place, "brief", seen), what="no children for two seconds")
        assert "Traceback" not in whole_log(operator)


@pytest.mark.case("E-09")
def test_a_watch_that_is_silent_is_opened_anew_within_ten_minutes() -> None:
    # After 70 s, as the API server sends a bookmark each minute; and each 600 s everything is listed.
    settings = RunSettings(plan=PlanSettings(worker_image="x:1"))
    assert (settings.watch_inactivity_seconds, settings.resync_seconds) == (70, 600)


@pytest.mark.case("E-09")
def test_a_watch_whose_history_expired_goes_on_from_a_fresh_list(apiserver: Apiserver, tmp_path: Path) -> None:
    place = make_place(apiserver, "expired")
    with (
        running_expiring_proxy(apiserver, tmp_path) as (proxy, through),
        running_operator(through, tmp_path / "log", namespace=place.namespace) as operator,
    ):
        operator.wait_active()
        place.create("before")
        place.complete("before")
        proxy.marker = b'"name":"after"'
        place.create("after")  # its event never comes: only a list can tell
        eventually(lambda: len(place.children("after")) == CHILDREN, what="handled", seconds=75, story=operator.story)
        assert proxy.expired == 1
        assert operator.page("/healthz") == "ok\n"


def _rests_at_none(place: Place, name: str, seen: list[int]) -> bool:
    """Whether the last twenty looks, a tenth of a second apart, found no child."""
    seen.append(len(place.children(name)))
    return len(seen) >= 20 and not any(seen[-20:])
