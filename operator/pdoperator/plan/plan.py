"""Everything that shall exist for one PDDeployment, in the order in which it is applied."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pdoperator.api.types import Spec
from pdoperator.plan.names import Manifest, Owner
from pdoperator.plan.network import headless_service, router_policy, router_service, worker_policy
from pdoperator.plan.pods import PlanSettings
from pdoperator.plan.workloads import disruption_budget, router_deployment, service_account, stateful_set
from pdoperator.topology.resolve import Topology
from pdoperator.topology.role import WORKER_ROLES

__all__ = ["Manifest", "Owner", "Plan", "PlanSettings", "build", "digest"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The manifests: whole, each owned by the PDDeployment, with every field that matters and no other."""

    manifests: tuple[Manifest, ...]


def build(*, owner: Owner, spec: Spec, topology: Topology, settings: PlanSettings) -> Plan:
    """The plan of a spec. What pods need comes before the pods."""
    return Plan(
        (
            service_account(owner),
            worker_policy(owner, settings),
            router_policy(owner),
            *(headless_service(owner, role) for role in WORKER_ROLES),
            router_service(owner),
            *(disruption_budget(owner, role) for role in WORKER_ROLES),
            *(
                stateful_set(owner=owner, role=role, spec=spec, topology=topology, settings=settings)
                for role in WORKER_ROLES
            ),
            router_deployment(owner=owner, spec=spec, settings=settings),
        )
    )


def digest(manifest: Mapping[str, Any]) -> str:
    """A fingerprint that is equal exactly when the manifests are."""
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()
