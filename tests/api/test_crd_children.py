"""A planned PDDeployment on a real API server with its controllers: pods are made, and all goes with the owner."""

import json

import pytest

from pdoperator.plan.names import Owner
from tests.support.apiserver import Apiserver
from tests.support.builders import a_pddeployment, changed, manifests, sizes
from tests.support.crd import install_crd

NAMESPACE = "longest"
NAME = "deepseek-r1-long-context-production-eu-west2"  # 44 characters
KINDS = "statefulset,deployment,replicaset,service,serviceaccount,networkpolicy,poddisruptionbudget,pod"


@pytest.fixture(scope="module")
def applied(apiserver: Apiserver) -> Apiserver:
    """The longest name that is accepted, with replicas up to a two-digit ordinal, applied as the operator would."""
    install_crd(apiserver)
    apiserver.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    eleven = {"replicas": 11}
    obj = a_pddeployment(NAME, prefill=sizes(4, context=4) | eleven, decode=sizes(4) | eleven)
    obj = changed(obj, "metadata.namespace", NAMESPACE)
    apiserver.apply(obj)
    uid = apiserver.get("pdd", NAME, "-n", NAMESPACE)["metadata"]["uid"]
    apiserver.apply(*manifests(obj, owner=Owner(namespace=NAMESPACE, name=NAME, uid=uid)).values())
    return apiserver


@pytest.mark.case("E-02")
@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_the_longest_name_gets_pods_up_to_a_two_digit_ordinal(applied: Apiserver, role: str) -> None:
    pod = f"pod/{NAME}-{role}-10"
    applied.kubectl("wait", "--for=create", pod, "-n", NAMESPACE, "--timeout=30s")
    labels = applied.get(pod, "-n", NAMESPACE)["metadata"]["labels"]
    assert len(labels["controller-revision-hash"]) <= 63
    assert labels["pdoperator.io/role"] == role


def test_the_longest_name_gets_a_router_pod(applied: Apiserver) -> None:
    selector = f"pdoperator.io/deployment={NAME},pdoperator.io/role=router"
    applied.kubectl("wait", "--for=create", "pod", "-l", selector, "-n", NAMESPACE, "--timeout=30s")


def test_the_same_manifests_again_change_nothing(applied: Apiserver) -> None:
    uid = applied.get("pdd", NAME, "-n", NAMESPACE)["metadata"]["uid"]
    obj = applied.get("pdd", NAME, "-n", NAMESPACE)
    before = _generations(applied)
    applied.apply(*manifests(obj, owner=Owner(namespace=NAMESPACE, name=NAME, uid=uid)).values())
    assert _generations(applied) == before


@pytest.mark.case("E-16")
@pytest.mark.case("E-06")
def test_a_deleted_owner_takes_every_child_with_it_though_no_operator_runs(applied: Apiserver) -> None:
    applied.kubectl("delete", "pdd", NAME, "-n", NAMESPACE)
    selector = ("-l", f"pdoperator.io/deployment={NAME}", "-n", NAMESPACE)
    for kind in KINDS.split(","):
        applied.kubectl("wait", "--for=delete", kind, *selector, "--timeout=60s")
    assert json.loads(applied.kubectl("get", KINDS, *selector, "-o", "json").stdout)["items"] == []


def _generations(server: Apiserver) -> dict[str, object]:
    found = server.get("statefulset,deployment,networkpolicy,service", "-n", NAMESPACE)["items"]
    return {f"{each['kind']}/{each['metadata']['name']}": each["metadata"].get("generation") for each in found}
