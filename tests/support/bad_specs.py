"""What must be refused, and in which words: at admission and, for what slips through, by the operator.

`says` must be in both messages; `only_schema` cases are those whose words the API server chooses.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bad:
    """One mistake: the demo's PDDeployment with the field at `path` set to `value`."""

    path: str
    value: object
    field: str  # what both name
    says: str = ""  # the rule's own message, in both; empty where the schema refuses
    unsupported: bool = False


P, D = "spec.prefill.parallelism", "spec.decode.parallelism"
PREFILL_LIMITS = "spec.prefill.template.resources.limits"

SCHEMA = {
    "tensor as a string": Bad(f"{P}.tensor", "8", f"{P}.tensor"),
    "tensor 0": Bad(f"{P}.tensor", 0, f"{P}.tensor"),
    "tensor negative": Bad(f"{P}.tensor", -1, f"{P}.tensor"),
    "tensor a fraction": Bad(f"{P}.tensor", 1.5, f"{P}.tensor"),
    "tensor beyond 32 bits": Bad(f"{P}.tensor", 3000000000, f"{P}.tensor"),
    "tensor above what the API holds": Bad(f"{P}.tensor", 1025, f"{P}.tensor"),
    "tensor absent": Bad(P, {"context": 4}, f"{P}.tensor"),
    "tensor under another name": Bad(D, {"tpSize": 8}, f"{D}.tensor"),
    "context 0": Bad(f"{P}.context", 0, f"{P}.context"),
    "replicas negative": Bad("spec.decode.replicas", -1, "spec.decode.replicas"),
    "backend of another world": Bad("spec.transfer.backend", "ucx", "spec.transfer.backend"),
    "backend in lower case": Bad("spec.transfer.backend", "mooncake", "spec.transfer.backend"),
    "backend empty": Bad("spec.transfer.backend", "", "spec.transfer.backend"),
    "transport empty": Bad("spec.transfer.transport", "", "spec.transfer.transport"),
    "attention unknown": Bad("spec.model.attention", "GQA", "spec.model.attention"),
    "dtype unknown": Bad("spec.model.kvCacheDtype", "float32", "spec.model.kvCacheDtype"),
    "model name with a line feed": Bad("spec.model.name", "a\nb", "spec.model.name"),
    "model name empty": Bad("spec.model.name", "", "spec.model.name"),
    "objective as text": Bad("spec.slo", "20GB/s", "spec.slo"),
    "bandwidth no quantity": Bad("spec.slo", {"minBandwidth": "20GB/s"}, "spec.slo.minBandwidth"),
    "half a GPU as a number": Bad(PREFILL_LIMITS, {"nvidia.com/gpu": 0.5}, PREFILL_LIMITS),
    "memory no quantity": Bad(PREFILL_LIMITS, {"memory": "lots"}, PREFILL_LIMITS),
    "image with a space": Bad("spec.engine.image", "a b", "spec.engine.image"),
    "variable with a space": Bad("spec.engine.env", [{"name": "A B"}], "spec.engine.env[0].name"),
    "variable twice": Bad("spec.engine.env", [{"name": "A"}, {"name": "A", "value": "2"}], "spec.engine.env[1]"),
    "interval no duration": Bad("spec.verification.interval", "soon", "spec.verification.interval"),
    "tolerance a number": Bad("spec.verification.tolerance", 0.05, "spec.verification.tolerance"),
}

RULES = {
    "context doesn't divide tensor": Bad(P, {"tensor": 8, "context": 3}, P, "tensor 8 is not a multiple of context 3"),
    "prefill 4 against decode 3": Bad(
        "spec", {"prefill": {"parallelism": {"tensor": 4}}, "decode": {"parallelism": {"tensor": 3}}}, "spec",
        "prefill attention TP 4 and decode attention TP 3 can't be paired: neither is a multiple of the other",
    ),
    "prefill 8 against decode 12": Bad(
        "spec", {"prefill": {"parallelism": {"tensor": 8}}, "decode": {"parallelism": {"tensor": 12}}}, "spec",
        "prefill attention TP 8 and decode attention TP 12 can't be paired: neither is a multiple of the other",
    ),
    "variable of the contract: factor": Bad(
        "spec.engine.env", [{"name": "PD_EXPECTED_REPLICA_FACTOR", "value": "99"}], "spec.engine.env[0].name",
        "PD_EXPECTED_REPLICA_FACTOR is set by the operator and can't be set here",
    ),
    "variable of the contract: address": Bad(
        "spec.engine.env", [{"name": "B"}, {"name": "POD_IP", "value": "1.2.3.4"}], "spec.engine.env[1].name",
        "POD_IP is set by the operator and can't be set here",
    ),
    "variable of the contract: role": Bad(
        "spec.engine.env", [{"name": "PD_ROLE", "value": "decode"}], "spec.engine.env[0].name",
        "PD_ROLE is set by the operator and can't be set here",
    ),
    "half a GPU as text": Bad(
        PREFILL_LIMITS, {"nvidia.com/gpu": "0.5"}, PREFILL_LIMITS, "nvidia.com/gpu 0.5 is not a whole number"),
    "GPUs as bytes": Bad(
        PREFILL_LIMITS, {"nvidia.com/gpu": "10Gi"}, PREFILL_LIMITS, "nvidia.com/gpu 10Gi is not a whole number"),
    "thousandths of an RDMA device": Bad(
        "spec.decode.template.resources.requests", {"rdma/hca": "500m"}, "spec.decode.template.resources.requests",
        "rdma/hca 500m is not a whole number"),
    "thousandths of a byte": Bad(
        PREFILL_LIMITS, {"memory": "400m"}, PREFILL_LIMITS, "memory 400m is in thousandths of a byte"),
    "an RDMA device requested without a limit": Bad(
        "spec.prefill.template.resources.requests", {"rdma/hca": 1}, "spec.prefill.template.resources",
        "requests of rdma/hca must be in limits too, with the same amount"),
    "fewer GPUs requested than the limit": Bad(
        "spec.decode.template.resources", {"requests": {"nvidia.com/gpu": 2}, "limits": {"nvidia.com/gpu": "4"}},
        "spec.decode.template.resources", "requests of nvidia.com/gpu must be in limits too, with the same amount"),
    "thousandths of a byte of shared memory": Bad(
        "spec.decode.template.shmSize", "400m", "spec.decode.template.shmSize",
        "shmSize 400m is in thousandths of a byte"),
    "more GPUs than ranks": Bad(
        PREFILL_LIMITS, {"nvidia.com/gpu": 8}, "spec.prefill",
        "nvidia.com/gpu 8 does not match tensor x pipeline, which is 4"),
    "MLA without its rank": Bad(
        "spec.model.geometry", {"layers": 27}, "spec.model",
        "geometry of attention MLA needs layers, kvLoraRank and qkRopeHeadDim"),
    "MLA with heads": Bad(
        "spec.model.geometry.kvHeads", 8, "spec.model", "geometry of attention MLA has no kvHeads and no headDim"),
    "interval too short": Bad(
        "spec.verification.interval", "0s", "spec.verification.interval", "interval 0s is not between 1s and 1h"),
    "interval too long": Bad(
        "spec.verification.interval", "61m", "spec.verification.interval", "interval 61m is not between 1s and 1h"),
    "tolerance that accepts anything": Bad(
        "spec.verification.tolerance", "0.3", "spec.verification.tolerance", "tolerance 0.3 is more than 0.25"),
}  # fmt: skip


def _later(path: str, value: object, says: str) -> Bad:
    return Bad(path, value, path, says, unsupported=True)


UNSUPPORTED = {
    "attention HybridMLA": _later(
        "spec.model.attention", "HybridMLA", "attention HybridMLA is not supported yet (only MLA)"),
    "attention MHA": _later("spec.model.attention", "MHA", "attention MHA is not supported yet (only MLA)"),
    "engine SGLang": _later("spec.engine.name", "SGLang", "name SGLang is not supported yet (only Builtin)"),
    "engine VLLM": _later("spec.engine.name", "VLLM", "name VLLM is not supported yet (only Builtin)"),
    "engine version": _later("spec.engine.version", "0.5.16", "version 0.5.16 is not supported yet"),
    "engine arguments": _later("spec.engine.args", ["--fast"], "args is not supported yet"),
    "engine features": _later("spec.engine.features", ["AllContextRanks"], "features is not supported yet"),
    "backend NIXL": _later("spec.transfer.backend", "NIXL", "backend NIXL is not supported yet (only Mooncake)"),
    "backend MORI": _later("spec.transfer.backend", "MORI", "backend MORI is not supported yet (only Mooncake)"),
    "devices": _later("spec.transfer.devices", {"names": ["mlx5_0"]}, "devices is not supported yet"),
    "resources": _later(
        "spec.transfer.resources", {"source": "DevicePlugin", "name": "rdma/hca"}, "resources is not supported yet"),
    "prefill data": _later(f"{P}.data", 2, "data 2 is not supported yet (only 1)"),
    "decode data": _later(f"{D}.data", 4, "data 4 is not supported yet (only 1)"),
    "prefill pipeline": _later(f"{P}.pipeline", 2, "pipeline 2 is not supported yet (only 1)"),
    "decode pipeline": _later(f"{D}.pipeline", 2, "pipeline 2 is not supported yet (only 1)"),
    "decode context": _later(f"{D}.context", 2, "context 2 is not supported yet (only 1)"),
    "more ranks than a pod holds": Bad(
        D, {"tensor": 64}, D, "tensor 64 is not supported yet (at most 32): a replica is one pod", unsupported=True),
    "as many ranks as the API holds": Bad(
        D, {"tensor": 1024}, D, "tensor 1024 is not supported yet (at most 32): a replica is one pod",
        unsupported=True),
    "objective": _later("spec.slo", {"minBandwidth": "20G"}, "slo is not supported yet"),
    "Prometheus": _later(
        "spec.verification.source", "Prometheus", "source Prometheus is not supported yet (only Scrape or None)"),
}  # fmt: skip
