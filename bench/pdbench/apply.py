"""How long a user waits: from apply to all children, over 50 runs, and from apply to Ready=True with pods."""

import json
import time
from collections.abc import Sequence

from pdbench import measure
from pdbench.measure import Measure
from pdbench.scale import wait
from pddemo import access
from pddemo.install import ensure_namespace, install_chart
from pddemo.kubernetes import Cluster, condition
from tests.support.pddeployments import small

NAMESPACE = "pd-bench"
RUNS = 50
READY_RUNS = 3  # each starts four ranks that import torch on two cores
CHILDREN = 11  # ServiceAccount, 2 NetworkPolicies, 3 Services, 2 PodDisruptionBudgets, 2 StatefulSets, Deployment
KINDS = "serviceaccount,networkpolicy,service,poddisruptionbudget,statefulset,deployment"
CHILDREN_SECONDS = 30
READY_SECONDS = 180


def measures() -> Sequence[Measure]:
    """Seconds from `kubectl apply` to all children existing, and to Ready=True."""
    cluster = access.ensure_up()
    install_chart(cluster, access.ensure_images())
    ensure_namespace(cluster, NAMESPACE)
    try:
        children = [_to_children(cluster, f"bare-{n}") for n in range(RUNS)]
        ready = [_to_ready(cluster, f"full-{n}") for n in range(READY_RUNS)]
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=120s", timeout=150)
    return [
        measure.of("apply.to_children.median", children, unit="s"),
        measure.p99("apply.to_children.p99", children, unit="s"),
        measure.of("apply.to_ready.median", ready, unit="s"),
    ]


def _to_children(cluster: Cluster, name: str) -> float:
    """One run without pods: kubectl's own start-up (about 0.1 s, twice) is in the figure, as it is for a user."""
    spec = small(name)
    for role in ("prefill", "decode"):
        spec["spec"][role]["replicas"] = 0
    start = time.monotonic()
    cluster.apply(json.dumps(spec), namespace=NAMESPACE)
    wait(f"the children of {name}", lambda: _children(cluster, name) == CHILDREN, seconds=CHILDREN_SECONDS, every=0)
    seconds = time.monotonic() - start
    cluster.kubectl("delete", "pdd", name, "-n", NAMESPACE)
    return seconds


def _to_ready(cluster: Cluster, name: str) -> float:
    start = time.monotonic()
    cluster.apply(json.dumps(small(name)), namespace=NAMESPACE)
    wait(f"{name} ready", lambda: _is_ready(cluster, name), seconds=READY_SECONDS)
    seconds = time.monotonic() - start
    cluster.kubectl("delete", "pdd", name, "-n", NAMESPACE)
    return seconds


def _children(cluster: Cluster, name: str) -> int:
    return len(cluster.items(KINDS, namespace=NAMESPACE, selector=f"pdoperator.io/deployment={name}"))


def _is_ready(cluster: Cluster, name: str) -> bool:
    pdd = cluster.get("pdd", name, namespace=NAMESPACE)
    return bool(condition(pdd, "Ready").get("status") == "True")
