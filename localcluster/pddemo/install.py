"""What the demo and the cluster tests do alike: install the chart, send requests through a router."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pddemo.kubernetes import Cluster

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "pd-operator"
SYSTEM_NAMESPACE = "pd-system"
RELEASE = "pd-operator"


@dataclass(frozen=True, slots=True)
class Images:
    """The references of the two images, as the nodes know them."""

    operator: str
    worker: str


def install_chart(cluster: Cluster, images: Images, *extra: str, namespace: str = SYSTEM_NAMESPACE) -> None:
    """Install or upgrade the operator and wait until it is ready. The same values again change nothing."""
    cluster.helm(
        "upgrade", "--install", RELEASE, str(CHART), "--namespace", namespace, "--create-namespace",
        *_image_values("image", images.operator), *_image_values("workerImage", images.worker),
        *extra, "--wait", "--timeout", "180s",
    )  # fmt: skip


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
