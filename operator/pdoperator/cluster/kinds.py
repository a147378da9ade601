"""The closed set of Kubernetes kinds the operator reads or writes, and their paths.

A table instead of API discovery: the set is fixed, discovery would be requests at every start, and the client's
discovery keeps a cache file that outlives a change of the cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource of the API server; every one of ours is namespaced."""

    group: str
    version: str
    kind: str
    plural: str

    @property
    def api_version(self) -> str:
        """The value of `apiVersion` in manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path; without a namespace, of all namespaces."""
        parts = [f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"]
        if namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        parts.extend(part for part in (name, subresource) if part)
        return "/".join(parts)


PDDEPLOYMENT = Kind("pdoperator.io", "v1alpha1", "PDDeployment", "pddeployments")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")
SERVICE = Kind("", "v1", "Service", "services")
POD = Kind("", "v1", "Pod", "pods")
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
EVENT = Kind("events.k8s.io", "v1", "Event", "events")
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")

CHILD_KINDS = (SERVICE_ACCOUNT, NETWORK_POLICY, SERVICE, POD_DISRUPTION_BUDGET, STATEFUL_SET, DEPLOYMENT)
ALL_KINDS = (PDDEPLOYMENT, *CHILD_KINDS, POD, EVENT, LEASE)

_BY_NAME = {(kind.api_version, kind.kind): kind for kind in ALL_KINDS}


def kind_of(manifest: Mapping[str, Any]) -> Kind:
    """The kind of a manifest. A kind outside the table is a mistake of ours: KeyError."""
    return _BY_NAME[manifest["apiVersion"], manifest["kind"]]
