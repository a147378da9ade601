"""Objects of the API server, as values."""

from typing import Any

import pytest

from pdoperator.live.objects import pod_of, pods_of, workload_of
from pdoperator.topology.role import Role
from tests.support.live import pod_object, workload_object


def test_a_ready_pod() -> None:
    pod = pod_of(pod_object("prefill", number=3))
    assert pod is not None
    assert (pod.name, pod.role, pod.ip, pod.node) == ("v2-prefill-3", Role.PREFILL, "10.0.0.4", "node-1")
    assert (pod.ready, pod.started, pod.owned, pod.terminating) == (True, True, True, False)


def test_a_pod_that_has_nothing_yet() -> None:
    pod = pod_of({"metadata": {"name": "x", "labels": {"pdoperator.io/role": "decode"}}})
    assert pod is not None
    assert (pod.ip, pod.node, pod.ready, pod.started, pod.restarts, pod.owned) == (None, None, False, False, 0, False)


def test_a_pod_without_a_role_of_ours_is_none_of_ours() -> None:
    foreign: dict[str, Any] = {"metadata": {"name": "x", "labels": {"pdoperator.io/role": "cook"}}}
    assert pod_of(foreign) is None
    assert [pod.name for pod in pods_of([foreign, pod_object("decode")])] == ["v2-decode-0"]


@pytest.mark.parametrize(
    ("role", "owner"),
    [
        pytest.param("prefill", {"kind": "StatefulSet", "name": "v2-decode", "controller": True}, id="another role's"),
        pytest.param("prefill", {"kind": "StatefulSet", "name": "v2-prefill"}, id="no controller"),
        pytest.param("prefill", {"kind": "Job", "name": "v2-prefill", "controller": True}, id="another kind"),
        pytest.param("router", {"kind": "ReplicaSet", "name": "v3-router-1", "controller": True}, id="another's"),
        pytest.param("router", {"kind": "ReplicaSet", "name": "v2-router", "controller": True}, id="no hash"),
    ],
)
def test_a_pod_of_another_owner_only_carries_our_labels(role: str, owner: dict[str, Any]) -> None:
    pod = pod_of({"metadata": {**pod_object(role)["metadata"], "ownerReferences": [owner]}})
    assert pod is not None
    assert not pod.owned


def test_a_router_pod_is_owned_through_its_replica_set() -> None:
    pod = pod_of(pod_object("router"))
    assert pod is not None
    assert pod.owned


def test_the_image_is_the_one_asked_for() -> None:
    pod = pod_of(pod_object("decode", ready=False, waiting=("ImagePullBackOff", "Back-off")))
    assert pod is not None
    assert (pod.waiting_reason, pod.waiting_image) == ("ImagePullBackOff", "registry.invalid/x:1")


def test_waiting_for_ones_turn_is_no_trouble() -> None:
    pod = pod_of(pod_object("decode", ready=False, waiting=("ContainerCreating", "")))
    assert pod is not None
    assert not pod.waiting_reason


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        pytest.param({"exitCode": 137, "reason": "OOMKilled"}, "exit code 137 (OOMKilled)", id="killed for memory"),
        pytest.param({"exitCode": 1, "reason": "Error"}, "exit code 1", id="an error says no more than its code"),
    ],
)
def test_the_last_exit(ended: dict[str, Any], words: str) -> None:
    pod = pod_of(pod_object("decode", restarts=4, last_exit=ended))
    assert pod is not None
    assert (pod.restarts, pod.last_exit) == (4, words)


def test_only_the_schedulers_own_no_counts_as_unschedulable() -> None:
    def scheduled(reason: str) -> dict[str, Any]:
        return {"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/3 nodes"}]}

    stuck = pod_of(pod_object("decode", **scheduled("Unschedulable")))
    gated = pod_of(pod_object("decode", **scheduled("SchedulingGated")))
    assert stuck is not None
    assert gated is not None
    assert (stuck.unschedulable_message, gated.unschedulable_message) == ("0/3 nodes", "")


def test_a_workload() -> None:
    work = workload_of(workload_object("prefill", replicas=3, updated=1, seen=0))
    assert work is not None
    assert (work.kind, work.role, work.replicas, work.updated_replicas) == ("StatefulSet", Role.PREFILL, 3, 1)
    assert (work.generation, work.observed_generation, work.current_revision, work.update_revision) == (1, 0, "a", "b")


def test_a_service_is_no_workload() -> None:
    assert workload_of({"kind": "Service", "metadata": workload_object("decode")["metadata"]}) is None
