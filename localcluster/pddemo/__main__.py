"""`make demo`: a real Kubernetes, the chart, an MLA model over prefill CP 4 and decode TP 4, and its conditions."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pddemo import access
from pddemo.install import ROOT, ensure_namespace, install_chart, send_requests
from pddemo.kubernetes import Cluster, CommandError, condition, until

NAMESPACE = "pd-demo"
NAME = "mla-cp4-tp4"
EXAMPLE = ROOT / "examples" / f"{NAME}.yaml"
EXPECTED_FACTOR = "4"  # decode attention TP 4 / prefill attention TP 1, worked out by hand
REQUESTS = 24
PROMPT_TOKENS = 2048
READY_SECONDS = 240  # eight worker ranks import torch one after another on two cores; a minute when idle
VERDICT_SECONDS = 60  # a dozen scrape intervals of the example


Result = TypeVar("Result")


def main() -> int:
    """Run the demo. 0 when every condition it promises holds, else 1 with the reason."""
    try:
        show(cluster := bring_up())
        problems = shortcomings(cluster.get("pdd", NAME, namespace=NAMESPACE))
    except (CommandError, TimeoutError, OSError) as failed:
        problems = [str(failed)]
    for problem in problems:
        print(f"demo: FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


def bring_up() -> Cluster:
    """Everything up to the verdicts, each step with its time."""
    cluster: Cluster = step("cluster", access.ensure_up)
    images = step("images", access.ensure_images)
    step("operator", lambda: install_chart(cluster, images))
    step("example", lambda: _apply_example(cluster))
    # Ready alone may still be that of pods which a new image is about to replace.
    step("rolled out", lambda: _wait_for(cluster, "Progressing", status="False", seconds=READY_SECONDS))
    step("ready", lambda: _wait_for(cluster, "Ready", seconds=READY_SECONDS))
    step("metrics", lambda: _wait_for(cluster, "MetricsAvailable", seconds=VERDICT_SECONDS))
    sent = step(
        "requests",
        lambda: send_requests(cluster, NAME, namespace=NAMESPACE, requests=REQUESTS, prompt_tokens=PROMPT_TOKENS),
    )
    print(f"    {sent}")
    step("verified", lambda: _wait_for(cluster, "ReplicaFactorVerified", seconds=VERDICT_SECONDS))
    step("bandwidth", lambda: until("a measured bandwidth", lambda: _bandwidth(_pdd(cluster)), seconds=VERDICT_SECONDS))
    return cluster


def step(name: str, action: Callable[[], Result]) -> Result:
    """Do one step, saying when it starts and how long it took."""
    print(f"==> {name}", flush=True)
    start = time.monotonic()
    result = action()
    print(f"    {time.monotonic() - start:.1f} s", flush=True)
    return result


def show(cluster: Cluster) -> None:
    """Print what a user would look at."""
    print("\n$ kubectl get pdd -n", NAMESPACE)
    print(cluster.kubectl("get", "pdd", "-n", NAMESPACE))
    print(f"$ kubectl get pdd {NAME} -n {NAMESPACE} -o jsonpath=… (conditions)")
    for found in _pdd(cluster)["status"]["conditions"]:
        print(f"{found['type']:22} {found['status']:8} {found['reason']:20} {found['message']}")


def shortcomings(pdd: Mapping[str, Any]) -> list[str]:
    """What the demo promised and this PDDeployment doesn't show; empty when all holds."""
    status = pdd["status"]
    wrong = [
        f"{kind} is {condition(pdd, kind).get('status', 'absent')}, not True: {condition(pdd, kind).get('message')}"
        for kind in ("Ready", "ReplicaFactorVerified")
        if condition(pdd, kind).get("status") != "True"
    ]
    figures = {
        "expected replica factor": str(status["topology"].get("expectedReplicaFactor")),
        "observed replica factor": str(status.get("observed", {}).get("replicaFactor")),
    }
    wrong += [f"{what} is {seen}, not {EXPECTED_FACTOR}" for what, seen in figures.items() if seen != EXPECTED_FACTOR]
    if not _bandwidth(pdd):
        wrong.append("no bandwidth was measured")
    return wrong


def _apply_example(cluster: Cluster) -> None:
    ensure_namespace(cluster, NAMESPACE)
    cluster.kubectl("apply", "-n", NAMESPACE, "-f", str(EXAMPLE))


def _wait_for(cluster: Cluster, kind: str, *, seconds: float, status: str = "True") -> None:
    until(f"{kind}={status} of {NAME}", lambda: _reads(_pdd(cluster), kind, status), seconds=seconds)


def _reads(pdd: Mapping[str, Any], kind: str, status: str) -> bool:
    found = condition(pdd, kind)
    current: bool = found.get("status") == status and found.get("observedGeneration") == pdd["metadata"]["generation"]
    return current


def _pdd(cluster: Cluster) -> dict[str, Any]:
    return cluster.get("pdd", NAME, namespace=NAMESPACE)


def _bandwidth(pdd: Mapping[str, Any]) -> str:
    measured: str = pdd.get("status", {}).get("observed", {}).get("bandwidth", "")
    return measured


if __name__ == "__main__":
    sys.exit(main())
