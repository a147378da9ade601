"""What the demo and the cluster tests do alike: install the chart, send requests through a router."""

import json
from pathlib import Path
from typing import Any

from pdcluster.images import Images
from pddemo.kubernetes import Cluster

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "pd-operator"
SYSTEM_NAMESPACE = "pd-system"
RELEASE = "pd-operator"


def install_chart(cluster: Cluster, images: Images, *extra: str, namespace: str = SYSTEM_NAMESPACE) -> None:
    """Install or upgrade the operator and wait until it is ready. The same values again change nothing."""
    cluster.helm(
        "upgrade", "--install", RELEASE, str(CHART), "--namespace", namespace, "--create-namespace",
        *_image_values("image", images.operator), *_image_values("workerImage", images.worker),
        *extra,
    )  # fmt: skip
    # Not helm's own --wait: interrupted there, it leaves a release that refuses every later upgrade.
    cluster.kubectl("rollout", "status", f"deployment/{RELEASE}", "-n", namespace, "--timeout=180s", timeout=200)


def ensure_namespace(cluster: Cluster, name: str) -> None:
    """Make the namespace when it isn't there."""
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))


def send_requests(
    cluster: Cluster, name: str, *, namespace: str, requests: int, prompt_tokens: int, concurrency: int = 2
) -> dict[str, Any]:
    """Send requests to a PDDeployment's router from inside its pod; what `pd-worker load` printed.

    Raises CommandError when a request failed.
    """
    printed = cluster.kubectl(
        "exec", "-n", namespace, f"deploy/{name}-router", "--",
        "pd-worker", "load", "--url", "http://127.0.0.1:30000", "-o", "json",
        "--requests", str(requests), "--concurrency", str(concurrency), "--prompt-tokens", str(prompt_tokens),
        timeout=180,
    )  # fmt: skip
    summary: dict[str, Any] = json.loads(printed)
    return summary


def _image_values(value: str, reference: str) -> tuple[str, ...]:
    repository, _, tag = reference.rpartition(":")
    return "--set-string", f"{value}.repository={repository},{value}.tag={tag}"
