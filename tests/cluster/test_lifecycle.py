"""Drift heals, rest is silent, failures are named, and a deleted PDDeployment takes all with it."""

import json
import time

import pytest

from pddemo.install import RELEASE, SYSTEM_NAMESPACE, send_requests
from pddemo.kubernetes import condition, until
from tests.cluster.conftest import Place
from tests.support.expect import becomes, create, pod_uids, ready
from tests.support.operator_page import api_writes
from tests.support.pddeployments import small

pytestmark = pytest.mark.cluster

NAME = "tiny"
CHILD_KINDS = "statefulset,deployment,service,serviceaccount,networkpolicy,poddisruptionbudget"
GONE_SECONDS = 60  # what the case of orphans allows


@pytest.fixture(scope="module")
def deployed(place: Place) -> Place:
    create(place.cluster, small(NAME), namespace=place.namespace)
    ready(place.cluster, NAME, namespace=place.namespace)
    return place


@pytest.mark.parametrize("child", [
    pytest.param("statefulset/tiny-prefill", id="prefill StatefulSet"),
    pytest.param("statefulset/tiny-decode", id="decode StatefulSet"),
    pytest.param("deployment/tiny-router", id="router Deployment"),
    pytest.param("service/tiny-prefill", id="headless Service"),
    pytest.param("service/tiny-router", id="router Service"),
    pytest.param("serviceaccount/tiny", id="ServiceAccount"),
    pytest.param("networkpolicy/tiny", id="NetworkPolicy"),
    pytest.param("poddisruptionbudget/tiny-decode", id="PodDisruptionBudget"),
])  # fmt: skip
def test_a_deleted_child_comes_back(deployed: Place, child: str) -> None:
    kind, _, name = child.partition("/")
    old = deployed.cluster.get(kind, name, namespace=deployed.namespace)["metadata"]["uid"]
    deployed.cluster.kubectl("delete", child, "-n", deployed.namespace, "--wait=false")

    def back() -> bool:
        new = deployed.cluster.get(kind, name, namespace=deployed.namespace)["metadata"]["uid"]
        return bool(new != old)

    until(f"{child} back", back, seconds=30, every=0.5)


def test_an_edited_child_is_put_right(deployed: Place) -> None:
    patch = json.dumps({"spec": {"publishNotReadyAddresses": False}})
    deployed.cluster.kubectl("patch", "service", "tiny-decode", "-n", deployed.namespace, "-p", patch)

    def restored() -> bool:
        spec = deployed.cluster.get("service", "tiny-decode", namespace=deployed.namespace)["spec"]
        return spec.get("publishNotReadyAddresses") is True

    until("the Service put right", restored, seconds=30, every=0.5)
    ready(deployed.cluster, NAME, namespace=deployed.namespace)


def test_at_rest_nothing_is_written(deployed: Place) -> None:
    ready(deployed.cluster, NAME, namespace=deployed.namespace)
    settled = until("writes to settle", lambda: _settled(deployed), seconds=60)
    time.sleep(12)  # six scrape intervals of this PDDeployment
    assert _writes(deployed) == settled


def test_more_replicas_leave_the_running_pods_and_the_factor(deployed: Place) -> None:
    before = pod_uids(deployed.cluster, NAME, namespace=deployed.namespace)
    patch = json.dumps({"spec": {"decode": {"replicas": 2}}})
    deployed.cluster.kubectl("patch", "pdd", NAME, "-n", deployed.namespace, "--type=merge", "-p", patch)

    def two() -> bool:
        status = deployed.cluster.get("pdd", NAME, namespace=deployed.namespace)["status"]
        return bool(status["decode"]["readyReplicas"] == 2)

    until("two decode replicas", two, seconds=120)
    after = pod_uids(deployed.cluster, NAME, namespace=deployed.namespace)
    assert before.items() <= after.items()
    sent = send_requests(deployed.cluster, NAME, namespace=deployed.namespace, requests=6, prompt_tokens=640)
    assert sent["failures"] == 0
    pdd = becomes(deployed.cluster, NAME, namespace=deployed.namespace, ReplicaFactorVerified="True")
    assert pdd["status"]["factor"] == "2"


def test_no_decode_pods_is_said_and_nothing_divides_by_zero(deployed: Place) -> None:
    patch = json.dumps({"spec": {"decode": {"replicas": 0}}})
    deployed.cluster.kubectl("patch", "pdd", NAME, "-n", deployed.namespace, "--type=merge", "-p", patch)
    pdd = becomes(deployed.cluster, NAME, namespace=deployed.namespace, Available="False/ScaledToZero", Ready="False")
    assert pdd["status"]["topology"]["expectedReplicaFactor"] == 2


def test_an_image_that_cannot_be_pulled_is_named_and_heals(place: Place) -> None:
    image = "registry.invalid/pd-worker:1"
    create(place.cluster, small("nopull", engine={"name": "Builtin", "image": image}), namespace=place.namespace)
    pdd = becomes(place.cluster, "nopull", namespace=place.namespace, seconds=120, Ready="False/ImagePullFailed")
    assert image in condition(pdd, "Ready")["message"]
    create(place.cluster, small("nopull"), namespace=place.namespace)
    ready(place.cluster, "nopull", namespace=place.namespace)


@pytest.mark.case("E-16")
def test_a_deleted_pddeployment_takes_all_with_it(place: Place) -> None:
    create(place.cluster, small("short-lived"), namespace=place.namespace)
    until("children", lambda: len(_of(place, "short-lived")) >= 8, seconds=30)
    place.cluster.kubectl("delete", "pdd", "short-lived", "-n", place.namespace, "--timeout=60s", timeout=90)
    until("nothing left", lambda: not _of(place, "short-lived"), seconds=GONE_SECONDS)


@pytest.mark.case("E-06")
@pytest.mark.case("E-16")
def test_deletion_needs_no_operator(place: Place) -> None:
    create(place.cluster, small("orphan"), namespace=place.namespace)
    until("children", lambda: len(_of(place, "orphan")) >= 8, seconds=30)
    deployment = f"deployment/{RELEASE}"
    place.cluster.kubectl("scale", deployment, "-n", SYSTEM_NAMESPACE, "--replicas=0")
    try:
        place.cluster.kubectl("delete", "pdd", "orphan", "-n", place.namespace, "--timeout=60s", timeout=90)
        until("nothing left", lambda: not _of(place, "orphan"), seconds=GONE_SECONDS)
    finally:
        place.cluster.kubectl("scale", deployment, "-n", SYSTEM_NAMESPACE, "--replicas=1")
        place.cluster.kubectl("rollout", "status", deployment, "-n", SYSTEM_NAMESPACE, timeout=120)


def _of(place: Place, name: str) -> list[str]:
    kinds = f"{CHILD_KINDS},pod"
    found = place.cluster.items(kinds, namespace=place.namespace, selector=f"pdoperator.io/deployment={name}")
    return [f"{o['kind']}/{o['metadata']['name']}" for o in found]


def _writes(place: Place) -> dict[str, float]:
    """The operator's own count of its API writes, its Lease apart."""
    path = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/services/{RELEASE}-metrics:http/proxy/metrics"
    return api_writes(place.cluster.kubectl("get", "--raw", path))


def _settled(place: Place) -> dict[str, float] | None:
    first = _writes(place)
    time.sleep(4)  # two scrape intervals
    return first if first == _writes(place) else None
