from typing import Any

import pytest

from pdoperator.plan.network import worker_policy
from pdoperator.plan.pods import PlanSettings
from tests.support.builders import OWNER, a_pddeployment, manifests

FOUND = manifests(a_pddeployment())
WORKERS, ROUTER = FOUND["NetworkPolicy/v2-lite"]["spec"], FOUND["NetworkPolicy/v2-lite-router"]["spec"]

OWN = {"pdoperator.io/deployment": "v2-lite"}


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """A label selector, evaluated as the API says."""
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    within = all(labels.get(each["key"]) in each["values"] for each in selector.get("matchExpressions", []))
    return equal and within


def lets_in(policy: dict[str, Any], port: int, *, pod: dict[str, str], namespace: str) -> bool:
    """Whether the policy lets a pod with these labels, in this namespace, reach a port."""
    return any(
        any(_covers(each, port) for each in rule["ports"])
        and ("from" not in rule or any(_comes_from(peer, pod=pod, namespace=namespace) for peer in rule["from"]))
        for rule in policy["ingress"]
    )


def _covers(allowed: dict[str, Any], port: int) -> bool:
    return bool(allowed["port"] <= port <= allowed.get("endPort", allowed["port"]))


def _comes_from(peer: dict[str, Any], *, pod: dict[str, str], namespace: str) -> bool:
    if "namespaceSelector" in peer:
        return selects(peer["namespaceSelector"], {"kubernetes.io/metadata.name": namespace})
    return namespace == OWNER.namespace and selects(peer["podSelector"], pod)


def test_the_policies_select_workers_and_router_and_nothing_else() -> None:
    for role, workers, router in (("prefill", True, False), ("decode", True, False), ("router", False, True)):
        labels = {**OWN, "pdoperator.io/role": role}
        assert selects(WORKERS["podSelector"], labels) == workers
        assert selects(ROUTER["podSelector"], labels) == router
    other = {"pdoperator.io/deployment": "other", "pdoperator.io/role": "prefill"}
    assert not selects(WORKERS["podSelector"], other)


def test_own_pods_reach_every_port_of_the_contract() -> None:
    for port in (30000, 8998, 16000, 16127, 15000, 15127):
        assert lets_in(WORKERS, port, pod=OWN, namespace="models"), port


def test_ports_beside_the_contract_stay_closed() -> None:
    for port in (22, 8997, 14999, 15128, 15999, 16128, 30001):
        assert not lets_in(WORKERS, port, pod=OWN, namespace="models"), port


def test_another_pddeployment_reaches_nothing() -> None:
    other = {"pdoperator.io/deployment": "other", "pdoperator.io/role": "decode"}
    for port in (30000, 8998, 16000, 15000):
        assert not lets_in(WORKERS, port, pod=other, namespace="models"), port


def test_a_pod_of_the_same_name_elsewhere_reaches_nothing() -> None:
    assert not lets_in(WORKERS, 8998, pod=OWN, namespace="elsewhere")


def test_metrics_are_read_from_the_operators_and_the_monitoring_namespace_alone() -> None:
    settings = PlanSettings("image", operator_namespace="ops", monitoring_namespaces=("prometheus",))
    policy = worker_policy(OWNER, settings)["spec"]
    for namespace, allowed in (("ops", True), ("prometheus", True), ("default", False)):
        assert lets_in(policy, 30000, pod={}, namespace=namespace) == allowed
        assert not lets_in(policy, 8998, pod={}, namespace=namespace)


def test_anybody_reaches_the_router_on_its_one_port() -> None:
    assert lets_in(ROUTER, 30000, pod={}, namespace="default")
    assert not lets_in(ROUTER, 8998, pod={}, namespace="default")


def test_the_policies_say_nothing_of_egress() -> None:
    assert WORKERS["policyTypes"] == ROUTER["policyTypes"] == ["Ingress"]


@pytest.mark.case("B-22")
def test_headless_services_name_pods_before_they_are_ready() -> None:
    for role in ("prefill", "decode"):
        spec = FOUND[f"Service/v2-lite-{role}"]["spec"]
        assert spec["clusterIP"] == "None"
        assert spec["publishNotReadyAddresses"] is True
        assert spec["selector"] == {**OWN, "pdoperator.io/role": role}
        assert FOUND[f"StatefulSet/v2-lite-{role}"]["spec"]["serviceName"] == f"v2-lite-{role}"


@pytest.mark.case("B-22")
def test_the_routers_service_lists_ready_pods_alone() -> None:
    spec = FOUND["Service/v2-lite-router"]["spec"]
    assert "publishNotReadyAddresses" not in spec
    assert {each["name"]: each["port"] for each in spec["ports"]} == {"http": 30000, "http-80": 80}
