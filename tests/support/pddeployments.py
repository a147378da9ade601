"""PDDeployments for the cluster tests: the real thing at a small geometry, so that two cores suffice."""

from typing import Any


def small(name: str, *, env: tuple[dict[str, str], ...] = (), **spec: object) -> dict[str, Any]:
    """An MLA model over prefill attention TP 1 (tensor 2, context 2) and decode TP 2: the factor is 2."""
    return {
        "apiVersion": "pdoperator.io/v1alpha1",
        "kind": "PDDeployment",
        "metadata": {"name": name},
        "spec": {
            "model": {
                "name": "tests/tiny-mla",
                "attention": "MLA",
                "geometry": {"layers": 4, "kvLoraRank": 512, "qkRopeHeadDim": 64},
                "kvCacheDtype": "bfloat16",
                "pageSize": 64,
            },
            "engine": {"name": "Builtin", **({"env": list(env)} if env else {})},
            "transfer": {"backend": "Mooncake", "transport": "TCP"},
            "prefill": {"replicas": 1, "parallelism": {"tensor": 2, "context": 2}},
            "decode": {"replicas": 1, "parallelism": {"tensor": 2}},
            "verification": {"interval": "2s"},
            **spec,
        },
    }
