"""Objects as the API server gives them -> the values everybody decides on. A missing field is its zero value."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pdoperator.api.labels import DEPLOYMENT_LABEL, ROLE_LABEL
from pdoperator.live.state import Pod, Workload
from pdoperator.topology.role import Role

# What a container says while it waits its turn; every other reason for waiting is one somebody must hear of.
_PATIENT_REASONS = frozenset({"", "ContainerCreating", "PodInitializing"})


def pods_of(objects: Iterable[Mapping[str, Any]]) -> tuple[Pod, ...]:
    """The pods among these that have a role of ours, by name."""
    found = (pod_of(each) for each in objects)
    return tuple(sorted((pod for pod in found if pod is not None), key=lambda pod: pod.name))


def workloads_of(objects: Iterable[Mapping[str, Any]]) -> tuple[Workload, ...]:
    """The StatefulSets and Deployments among these that have a role of ours, by name."""
    found = (workload_of(each) for each in objects)
    return tuple(sorted((each for each in found if each is not None), key=lambda each: each.name))


def pod_of(obj: Mapping[str, Any]) -> Pod | None:
    """The pod as a value; None when its role label isn't one of ours (a foreign pod that carries our labels)."""
    meta, status = _map(obj, "metadata"), _map(obj, "status")
    role = _role(meta)
    if role is None:
        return None
    waiting_reason, waiting_message, waiting_image = _waiting(obj)
    return Pod(
        name=_text(meta, "name"),
        uid=_text(meta, "uid"),
        role=role,
        ip=_text(status, "podIP") or None,
        node=_text(_map(obj, "spec"), "nodeName") or None,
        ready=_condition(status, "Ready").get("status") == "True",
        terminating=bool(meta.get("deletionTimestamp")),
        phase=_text(status, "phase"),
        restarts=sum(_number(each, "restartCount") for each in _containers(status)),
        owned=_owned(meta, role),
        waiting_reason=waiting_reason,
        waiting_message=waiting_message,
        waiting_image=waiting_image,
        unschedulable_message=_unschedulable(status),
        started=_started(status),
        last_exit=_last_exit(status),
    )


def workload_of(obj: Mapping[str, Any]) -> Workload | None:
    """The workload as a value; None when it is of another kind or its role label isn't one of ours."""
    meta, status = _map(obj, "metadata"), _map(obj, "status")
    role, kind = _role(meta), _text(obj, "kind")
    if role is None or kind not in {"StatefulSet", "Deployment"}:
        return None
    spec = _map(obj, "spec")
    return Workload(
        kind=kind,
        name=_text(meta, "name"),
        role=role,
        generation=_number(meta, "generation"),
        observed_generation=_number(status, "observedGeneration"),
        # The API server defaults absent replicas to 1; an object it hasn't defaulted must not read as zero.
        replicas=_number(spec, "replicas") if spec.get("replicas") is not None else 1,
        updated_replicas=_number(status, "updatedReplicas"),
        ready_replicas=_number(status, "readyReplicas"),
        current_revision=_text(status, "currentRevision"),
        update_revision=_text(status, "updateRevision"),
    )


def _owned(meta: Mapping[str, Any], role: Role) -> bool:
    """Whether the controller is the workload of this role, by the names we give: labels alone can be forged."""
    workload = f"{_text(_map(meta, 'labels'), DEPLOYMENT_LABEL)}-{role.value}"
    for owner in _list(meta, "ownerReferences"):
        if owner.get("controller") is not True:
            continue
        kind, name = _text(owner, "kind"), _text(owner, "name")
        if role is Role.ROUTER:  # between a Deployment and its pods stands a ReplicaSet NAME-HASH
            return kind == "ReplicaSet" and name.rpartition("-")[0] == workload
        return kind == "StatefulSet" and name == workload
    return False


def _waiting(obj: Mapping[str, Any]) -> tuple[str, str, str]:
    images = {_text(each, "name"): _text(each, "image") for each in _declared(_map(obj, "spec"))}
    for container in _containers(_map(obj, "status")):
        waiting = _map(_map(container, "state"), "waiting")
        if (reason := _text(waiting, "reason")) not in _PATIENT_REASONS:
            # The image as it was asked for: status.image may hold a digest the user never wrote.
            image = images.get(_text(container, "name")) or _text(container, "image")
            return reason, _text(waiting, "message"), image
    return "", "", ""


def _last_exit(status: Mapping[str, Any]) -> str:
    for container in _containers(status):
        for state in ("state", "lastState"):
            ended = _map(_map(container, state), "terminated")
            if not ended:
                continue
            code, reason = _number(ended, "exitCode"), _text(ended, "reason")
            # The runtime's "Error" and "Completed" say no more than the code does.
            return f"exit code {code}" + (f" ({reason})" if reason not in {"", "Error", "Completed"} else "")
    return ""


def _started(status: Mapping[str, Any]) -> bool:
    states = _list(status, "containerStatuses")
    return bool(states) and all(each.get("started") is True for each in states)


def _unschedulable(status: Mapping[str, Any]) -> str:
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable":
        return _text(scheduled, "message")
    return ""


def _role(meta: Mapping[str, Any]) -> Role | None:
    value = _text(_map(meta, "labels"), ROLE_LABEL)
    return Role(value) if value in set(Role) else None


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return next((each for each in _list(status, "conditions") if each.get("type") == kind), {})


def _containers(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from _list(status, "initContainerStatuses")
    yield from _list(status, "containerStatuses")


def _declared(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from _list(spec, "initContainers")
    yield from _list(spec, "containers")


def _map(obj: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = obj.get(key)
    return value if isinstance(value, Mapping) else {}


def _list(obj: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = obj.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def _text(obj: Mapping[str, Any], key: str) -> str:
    value = obj.get(key)
    return value if isinstance(value, str) else ""


def _number(obj: Mapping[str, Any], key: str) -> int:
    value = obj.get(key)
    return value if isinstance(value, int) else 0
