"""PDDeployments for tests: the demo's sizes, then what a test changes of them.

a_pddeployment(prefill=sizes(8, context=8), decode=sizes(8), engine={"env": [...]})
"""

import copy
from collections.abc import Mapping
from typing import Any

from pdoperator.api.parse import parse
from pdoperator.plan.names import Manifest, Owner
from pdoperator.plan.plan import PlanSettings, build
from pdoperator.plan.topology import topology_of

OWNER = Owner(namespace="models", name="v2-lite", uid="11111111-2222-3333-4444-555555555555")
SETTINGS = PlanSettings(worker_image="registry.example/pd-worker:1")

MODEL = {
    "name": "deepseek-ai/DeepSeek-V2-Lite",
    "attention": "MLA",
    "geometry": {"layers": 27, "kvLoraRank": 512, "qkRopeHeadDim": 64},
    "kvCacheDtype": "bfloat16",
    "pageSize": 64,
}


def sizes(tensor: int, **others: int) -> dict[str, Any]:
    """A role of these sizes."""
    return {"parallelism": {"tensor": tensor, **others}}


def a_pddeployment(name: str = "v2-lite", **spec: object) -> dict[str, Any]:
    """Prefill tensor 4 context 4, decode tensor 4, over TCP; each keyword replaces a whole field of the spec."""
    return copy.deepcopy({
        "apiVersion": "pdoperator.io/v1alpha1",
        "kind": "PDDeployment",
        "metadata": {"name": name},
        "spec": {
            "model": MODEL,
            "transfer": {"backend": "Mooncake", "transport": "TCP"},
            "prefill": sizes(4, context=4),
            "decode": sizes(4),
            **spec,
        },
    })  # fmt: skip


def changed(obj: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy with the field at a dotted path set, objects on the way made."""
    copied: dict[str, Any] = copy.deepcopy(dict(obj))
    *way, last = path.split(".")
    place = copied
    for step in way:
        place = place.setdefault(step, {})
    place[last] = value
    return copied


def manifests(
    obj: Mapping[str, Any], *, owner: Owner = OWNER, settings: PlanSettings = SETTINGS
) -> dict[str, Manifest]:
    """Every manifest of a PDDeployment's plan, by kind/name."""
    spec = parse(obj)
    plan = build(owner=owner, spec=spec, topology=topology_of(spec), settings=settings)
    return {f"{m['kind']}/{m['metadata']['name']}": m for m in plan.manifests}


def environment(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The literal environment of a workload's container."""
    env = manifest["spec"]["template"]["spec"]["containers"][0]["env"]
    return {each["name"]: each["value"] for each in env if "value" in each}
