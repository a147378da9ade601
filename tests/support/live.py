"""A PDDeployment's live state for tests: written as the API server's objects, and read by the product's own code."""

from collections.abc import Mapping
from typing import Any

from pdoperator.live.objects import pods_of, workloads_of
from pdoperator.live.state import Key, Live

NAME = "v2"
LABELS = "pdoperator.io/deployment", "pdoperator.io/role"


def pod_object(
    role: str,
    *,
    number: int = 0,
    ready: bool = True,
    waiting: tuple[str, str] | None = None,
    restarts: int = 0,
    last_exit: Mapping[str, Any] | None = None,
    **status: Any,  # noqa: ANN401 -- any field of a pod's status
) -> dict[str, Any]:
    name = f"{NAME}-{role}-{number}" if role != "router" else f"{NAME}-router-5d9c8b7f6d-abcd{number}"
    kind, owner = ("ReplicaSet", f"{NAME}-router-5d9c8b7f6d") if role == "router" else ("StatefulSet", f"{NAME}-{role}")
    state = {"waiting": {"reason": waiting[0], "message": waiting[1]}} if waiting else {"running": {}}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "uid": f"uid-of-{name}",
            "labels": dict(zip(LABELS, (NAME, role), strict=True)),
            "ownerReferences": [{"kind": kind, "name": owner, "uid": f"uid-of-{owner}", "controller": True}],
        },
        "spec": {"nodeName": "node-1", "containers": [{"name": "worker", "image": "registry.invalid/x:1"}]},
        "status": {
            "phase": "Running",
            "podIP": f"10.0.0.{number + 1}",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [
                {
                    "name": "worker",
                    "image": "sha256:1",
                    "started": waiting is None,
                    "restartCount": restarts,
                    "state": state,
                    "lastState": {"terminated": last_exit} if last_exit else {},
                }
            ],
            **status,
        },
    }


def workload_object(role: str, *, replicas: int = 1, updated: int | None = None, seen: int = 1) -> dict[str, Any]:
    updated = replicas if updated is None else updated
    newest = "a" if updated == replicas else "b"
    revisions = {} if role == "router" else {"currentRevision": "a", "updateRevision": newest}
    return {
        "kind": "Deployment" if role == "router" else "StatefulSet",
        "metadata": {
            "name": f"{NAME}-{role}",
            "generation": 1,
            "labels": dict(zip(LABELS, (NAME, role), strict=True)),
        },
        "spec": {"replicas": replicas},
        "status": {"observedGeneration": seen, "updatedReplicas": updated, "readyReplicas": replicas, **revisions},
    }


ROLES = ("router", "prefill", "decode")
ALL_UP = tuple(pod_object(role) for role in ROLES)
ALL_THERE = tuple(workload_object(role) for role in ROLES)


def live(
    *,
    pods: tuple[dict[str, Any], ...] = ALL_UP,
    workloads: tuple[dict[str, Any], ...] = ALL_THERE,
    status: Mapping[str, Any] | None = None,
    generation: int = 1,
) -> Live:
    return Live(
        key=Key("serving", NAME),
        uid="uid-of-v2",
        generation=generation,
        resource_version="1",
        parent={},
        status=status or {},
        children=(),
        pods=pods_of(pods),
        workloads=workloads_of(workloads),
    )
