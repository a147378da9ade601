"""Names, labels and owner references: the same input gives the same name, for ever."""

from dataclasses import dataclass
from typing import Any

from pdoperator.api.labels import DEPLOYMENT_LABEL, MANAGED_BY, MANAGED_BY_LABEL, ROLE_LABEL
from pdoperator.api.types import API_VERSION, KIND
from pdoperator.topology.role import Role

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """The PDDeployment that the children belong to."""

    namespace: str
    name: str
    uid: str

    def child(self, role: Role) -> str:
        """The name of a role's children. The name rule of the API keeps it below every limit."""
        return f"{self.name}-{role}"

    def reference(self) -> Manifest:
        """The owner reference by which the garbage collector finds the children."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


def labels(owner: Owner, role: Role | None = None) -> dict[str, str]:
    """The labels of a child. Nothing of the model is in them: its name is free text."""
    found = {
        "app.kubernetes.io/name": "pd-operator-worker",
        "app.kubernetes.io/instance": owner.name,
        MANAGED_BY_LABEL: MANAGED_BY,
        DEPLOYMENT_LABEL: owner.name,
    }
    return found if role is None else {**found, ROLE_LABEL: str(role)}


def selector(owner: Owner, role: Role) -> dict[str, str]:
    """The labels by which the pods of a role are found; immutable in workloads, so as few as there can be."""
    return {DEPLOYMENT_LABEL: owner.name, ROLE_LABEL: str(role)}


def metadata(
    owner: Owner, *, role: Role | None = None, name: str | None = None, annotations: dict[str, str] | None = None
) -> Manifest:
    """The metadata of a child."""
    found: Manifest = {
        "name": name or (owner.name if role is None else owner.child(role)),
        "namespace": owner.namespace,
        "labels": labels(owner, role),
        "ownerReferences": [owner.reference()],
    }
    return {**found, "annotations": annotations} if annotations else found
