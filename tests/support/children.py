"""A Live without an API server, for tests of what is done with one."""

from collections.abc import Mapping
from typing import Any

from pdoperator.live.state import Key, Live

KEY = Key("ns", "v2")
UID = "uid-parent"


def a_live(*children: Mapping[str, Any], uid: str = UID, status: Mapping[str, Any] | None = None) -> Live:
    """The PDDeployment ns/v2 with these children."""
    meta = {"namespace": KEY.namespace, "name": KEY.name, "uid": uid, "generation": 1, "resourceVersion": "1"}
    parent = {"apiVersion": "pdoperator.io/v1alpha1", "kind": "PDDeployment", "metadata": meta, "spec": {}}
    return Live(
        key=KEY,
        uid=uid,
        generation=1,
        resource_version="1",
        parent=parent,
        status=status or {},
        children=children,
        pods=(),
    )


def owned_by(uid: str, *, kind: str = "PDDeployment", name: str = KEY.name) -> dict[str, Any]:
    """A controlling owner reference."""
    return {"apiVersion": "pdoperator.io/v1alpha1", "kind": kind, "name": name, "uid": uid, "controller": True}


def a_service(name: str = "v2-prefill", *, port: int = 8998, owner: str | None = UID, **meta: object) -> dict[str, Any]:
    """A Service as the plan writes it: with our labels and owner."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "namespace": KEY.namespace,
            "name": name,
            "labels": {"app.kubernetes.io/managed-by": "pd-operator", "pdoperator.io/deployment": KEY.name},
            **({"ownerReferences": [owned_by(owner)]} if owner else {}),
            **meta,
        },
        "spec": {"ports": [{"port": port}]},
    }
