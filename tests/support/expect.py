"""Waiting for what a PDDeployment's conditions must come to say."""

import json
from collections.abc import Mapping
from typing import Any

from pddemo.kubernetes import Cluster, condition, until

READY_SECONDS = 180  # ranks import torch one after another on two cores
VERDICT_SECONDS = 60  # dozens of scrape intervals


def create(cluster: Cluster, manifest: Mapping[str, Any], *, namespace: str) -> None:
    """Apply one PDDeployment."""
    cluster.apply(json.dumps(manifest), namespace=namespace)


def becomes(
    cluster: Cluster, name: str, *, namespace: str, seconds: float = VERDICT_SECONDS, **wanted: str
) -> dict[str, Any]:
    """The PDDeployment once every named condition reads STATUS or STATUS/REASON at its current generation."""

    def check() -> dict[str, Any] | None:
        pdd = cluster.get("pdd", name, namespace=namespace)
        met = all(text in _readings(pdd, kind) for kind, text in wanted.items())
        return pdd if met and _current(pdd) else None

    try:
        found: dict[str, Any] = until(f"{wanted} of {name}", check, seconds=seconds)
    except TimeoutError as late:
        raise TimeoutError(f"{late}; {story(cluster, name, namespace=namespace)}") from None
    return found


def ready(cluster: Cluster, name: str, *, namespace: str) -> dict[str, Any]:
    """The PDDeployment once it is ready and its workers' metrics are read."""
    return becomes(cluster, name, namespace=namespace, seconds=READY_SECONDS, Ready="True", MetricsAvailable="True")


def story(cluster: Cluster, name: str, *, namespace: str) -> str:
    """What a person would look at next, for the message of a failed test."""
    pdd = cluster.get("pdd", name, namespace=namespace)
    conditions = [
        f"{c['type']}={c['status']}/{c['reason']}: {c['message']}" for c in pdd.get("status", {}).get("conditions", [])
    ]
    pods = cluster.kubectl("get", "pods", "-n", namespace, "-o", "wide")
    events = cluster.kubectl("get", "events", "-n", namespace, "--sort-by=.lastTimestamp")[-3000:]
    return "\n".join(["", *conditions, pods, events])


def pod_uids(cluster: Cluster, name: str, *, namespace: str) -> dict[str, str]:
    """Name to UID of every pod of a PDDeployment."""
    pods = cluster.items("pods", namespace=namespace, selector=f"pdoperator.io/deployment={name}")
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


def _readings(pdd: Mapping[str, Any], kind: str) -> tuple[str, str]:
    found = condition(pdd, kind)
    return str(found.get("status")), f"{found.get('status')}/{found.get('reason')}"


def _current(pdd: Mapping[str, Any]) -> bool:
    generation = pdd["metadata"]["generation"]
    return bool(pdd.get("status", {}).get("observedGeneration") == generation)
