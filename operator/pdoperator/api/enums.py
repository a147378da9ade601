"""The closed sets of the API, as plain enums: usable where pydantic is not wanted."""

from enum import StrEnum


class Attention(StrEnum):
    """How the model's attention lays out its KV cache, which decides whether it can be split over ranks."""

    MLA = "MLA"  # one latent vector per token, whole on every rank
    HYBRID_MLA = "HybridMLA"  # MLA layers among linear-attention layers
    MHA = "MHA"  # heads, shared out over ranks; GQA and MQA too
    HYBRID_SWA = "HybridSWA"  # full and sliding-window layers mixed


class KvCacheDtype(StrEnum):
    """The element type of the KV cache."""

    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FP8_E4M3 = "fp8_e4m3"

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return 1 if self is KvCacheDtype.FP8_E4M3 else 2


class EngineName(StrEnum):
    """What runs in the worker pods."""

    BUILTIN = "Builtin"
    SGLANG = "SGLang"
    VLLM = "VLLM"


class Backend(StrEnum):
    """The library that moves KV pages."""

    MOONCAKE = "Mooncake"
    NIXL = "NIXL"
    MORI = "MORI"


class Transport(StrEnum):
    """What the pages travel over. Auto takes RDMA where a device is found, else TCP."""

    RDMA = "RDMA"
    TCP = "TCP"
    AUTO = "Auto"


class ResourceSource(StrEnum):
    """How pods get their network devices."""

    DEVICE_PLUGIN = "DevicePlugin"
    SRIOV = "SRIOV"
    RESOURCE_CLAIM = "ResourceClaim"
    HOST_PATH = "HostPath"


class VerificationSource(StrEnum):
    """Where the workers' metrics are read."""

    SCRAPE = "Scrape"
    PROMETHEUS = "Prometheus"
    NONE = "None"


class TolerationOperator(StrEnum):
    """As in a pod's tolerations."""

    EXISTS = "Exists"
    EQUAL = "Equal"


class TaintEffect(StrEnum):
    """As in a node's taints."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"
