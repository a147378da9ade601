"""Services and network policies."""

from typing import Any

from pdoperator.api.labels import DEPLOYMENT_LABEL, ROLE_LABEL
from pdoperator.plan import ports
from pdoperator.plan.names import Manifest, Owner, metadata, selector
from pdoperator.plan.pods import PlanSettings
from pdoperator.topology.role import WORKER_ROLES, Role

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"  # set by the API server on every namespace


def headless_service(owner: Owner, role: Role) -> Manifest:
    """The Service that gives every pod of a role a name before it is ready: ranks need each other to become so."""
    found = [_service_port("http", ports.HTTP, target="http")]
    if role is Role.PREFILL:
        found.append(_service_port("bootstrap", ports.BOOTSTRAP, target="bootstrap"))
    spec = {
        "type": "ClusterIP",
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": selector(owner, role),
        "ports": found,
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(owner, role=role), "spec": spec}


def router_service(owner: Owner) -> Manifest:
    """The Service for users: the port that engines use, and 80 for a bare URL."""
    spec = {
        "type": "ClusterIP",
        "selector": selector(owner, Role.ROUTER),
        "ports": [_service_port("http", ports.HTTP, target="http"), _service_port("http-80", 80, target="http")],
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(owner, role=Role.ROUTER), "spec": spec}


def worker_policy(owner: Owner, settings: PlanSettings) -> Manifest:
    """What may reach the workers: the deployment's own pods, and whoever reads metrics."""
    own_pods = {"podSelector": {"matchLabels": {DEPLOYMENT_LABEL: owner.name}}}
    readers = [settings.operator_namespace, *settings.monitoring_namespaces]
    namespaces = {
        "namespaceSelector": {"matchExpressions": [{"key": _NAMESPACE_LABEL, "operator": "In", "values": readers}]}
    }
    between = [
        _policy_port(ports.HTTP),
        _policy_port(ports.BOOTSTRAP),
        _policy_port(ports.RANKS_FIRST, ports.RANKS_LAST),
        _policy_port(ports.ENGINE_FIRST, ports.ENGINE_LAST),
    ]
    workers = {
        "matchLabels": {DEPLOYMENT_LABEL: owner.name},
        "matchExpressions": [{"key": ROLE_LABEL, "operator": "In", "values": [str(role) for role in WORKER_ROLES]}],
    }
    rules = [{"from": [own_pods], "ports": between}, {"from": [namespaces], "ports": [_policy_port(ports.HTTP)]}]
    return _policy(metadata(owner), pods=workers, ingress=rules)


def router_policy(owner: Owner) -> Manifest:
    """What may reach the router: anybody, on its one port."""
    pods = {"matchLabels": selector(owner, Role.ROUTER)}
    return _policy(metadata(owner, role=Role.ROUTER), pods=pods, ingress=[{"ports": [_policy_port(ports.HTTP)]}])


def _policy(meta: Manifest, *, pods: Manifest, ingress: list[Manifest]) -> Manifest:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": meta,
        "spec": {"podSelector": pods, "policyTypes": ["Ingress"], "ingress": ingress},
    }


def _service_port(name: str, port: int, *, target: str) -> dict[str, Any]:
    return {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}


def _policy_port(first: int, last: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"port": first, "protocol": "TCP"}
    return found if last is None else {**found, "endPort": last}
