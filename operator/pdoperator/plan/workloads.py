"""The workloads, and what stands beside them."""

from pdoperator.api.labels import MODEL_ANNOTATION
from pdoperator.api.types import Spec
from pdoperator.plan.names import Manifest, Owner, metadata, selector
from pdoperator.plan.pods import PlanSettings, router_template, worker_template
from pdoperator.topology.resolve import Topology
from pdoperator.topology.role import Role


def stateful_set(*, owner: Owner, role: Role, spec: Spec, topology: Topology, settings: PlanSettings) -> Manifest:
    """The workers of a role; all start at once, as none waits for another to be ready."""
    replicas = (spec.prefill if role is Role.PREFILL else spec.decode).replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(owner, role=role, annotations={MODEL_ANNOTATION: spec.model.name}),
        "spec": {
            "replicas": replicas,
            "serviceName": owner.child(role),
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate"},
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": selector(owner, role)},
            "template": worker_template(owner=owner, role=role, spec=spec, topology=topology, settings=settings),
        },
    }


def router_deployment(*, owner: Owner, spec: Spec, settings: PlanSettings) -> Manifest:
    """The router. A new one serves before the old one goes."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(owner, role=Role.ROUTER, annotations={MODEL_ANNOTATION: spec.model.name}),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 2,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": selector(owner, Role.ROUTER)},
            "template": router_template(owner=owner, spec=spec, settings=settings),
        },
    }


def service_account(owner: Owner) -> Manifest:
    """An identity without rights: the pods never talk to the API server."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(owner),
        "automountServiceAccountToken": False,
    }


def disruption_budget(owner: Owner, role: Role) -> Manifest:
    """One worker of a role at a time; a broken one never blocks a drain."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(owner, role=role),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selector(owner, role)},
        },
    }
