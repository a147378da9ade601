"""A namespace of a test's own on the API server, and the few things tests do with PDDeployments in it."""

from dataclasses import dataclass
from typing import Any

from pdoperator.cluster.kinds import ALL_KINDS, CHILD_KINDS, PDDEPLOYMENT
from tests.support.apiserver import Apiserver
from tests.support.crd import CRD
from tests.support.operator import eventually
from tests.support.pddeployments import small

# By what kubectl would take for it; reading over the API costs milliseconds, starting kubectl a quarter of a second.
KINDS = {"pdd": PDDEPLOYMENT} | {kind.kind.lower(): kind for kind in ALL_KINDS}


@dataclass(frozen=True, slots=True)
class Place:
    """One namespace."""

    server: Apiserver
    namespace: str

    def kubectl(self, *args: str, stdin: str | None = None, check: bool = True) -> str:
        """What kubectl printed, in this namespace."""
        return self.server.kubectl(*args, "-n", self.namespace, stdin=stdin, check=check).stdout

    def apply(self, manifest: dict[str, Any]) -> None:
        """Apply one object here."""
        self.server.apply({**manifest, "metadata": {**manifest["metadata"], "namespace": self.namespace}})

    def create(self, name: str, **spec: Any) -> None:  # noqa: ANN401 -- any field of the spec
        """Make a small PDDeployment, or change its spec."""
        self.apply(small(name, **spec))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """One object, {} when there is none. `kind` is as in kubectl: pdd, service, StatefulSet."""
        return self.server.api.read(KINDS[kind.lower()].path(namespace=self.namespace, name=name)) or {}

    def children(self, name: str) -> dict[str, dict[str, Any]]:
        """Every child that carries the label of this PDDeployment, by kind/name."""
        found = {}
        for kind in CHILD_KINDS:
            path = f"{kind.path(namespace=self.namespace)}?labelSelector=pdoperator.io/deployment={name}"
            for each in (self.server.api.read(path) or {})["items"]:
                found[f"{kind.kind}/{each['metadata']['name']}"] = {
                    **each,
                    "apiVersion": kind.api_version,
                    "kind": kind.kind,
                }
        return found

    def complete(self, name: str) -> dict[str, dict[str, Any]]:
        """The children once all are there and the status says so."""
        eventually(lambda: len(self.children(name)) >= CHILDREN, what=f"all children of {name}")
        eventually(lambda: self.condition(name, "TopologyValid") == "True/Valid", what=f"the status of {name}")
        return self.children(name)

    def condition(self, name: str, kind: str) -> str:
        """The condition as STATUS/REASON, empty while there is none."""
        conditions = self.get("pdd", name).get("status", {}).get("conditions", [])
        return next((f"{each['status']}/{each['reason']}" for each in conditions if each["type"] == kind), "")

    def versions(self, name: str) -> dict[str, str]:
        """The resourceVersion of the PDDeployment and of each child."""
        objects = {**self.children(name), "parent": self.get("pdd", name)}
        return {at: each["metadata"]["resourceVersion"] for at, each in objects.items()}


# ServiceAccount, two NetworkPolicies, three Services, two PodDisruptionBudgets, two StatefulSets, one Deployment.
CHILDREN = 11


def make_place(server: Apiserver, namespace: str) -> Place:
    """A new namespace on a server that serves PDDeployments."""
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRD))
    eventually(lambda: server.api.read("/apis/pdoperator.io/v1alpha1"), what="PDDeployments served")
    server.kubectl("create", "namespace", namespace)
    return Place(server, namespace)
