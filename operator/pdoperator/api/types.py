"""The spec of a PDDeployment, as users write it."""

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from pdoperator.api.base import ApiModel, Count, Duration, Quantity
from pdoperator.api.engine import Engine, Transfer
from pdoperator.api.enums import Attention, KvCacheDtype, VerificationSource
from pdoperator.api.template import PodTemplate

GROUP = "pdoperator.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "PDDeployment"
PLURAL = "pddeployments"

# A StatefulSet's pods carry a label of its name and an 11-character revision in 63; "-prefill" takes 8 more.
NAME_LIMIT = 63 - 11 - len("-prefill")


class GeometrySpec(ApiModel):
    """The shape of the KV cache: layers, kvLoraRank, qkRopeHeadDim for MLA; layers, kvHeads, headDim for MHA."""

    layers: Count
    """Layers that keep KV, draft layers included."""
    kv_lora_rank: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Width of the latent vector (MLA)."""
    qk_rope_head_dim: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Width of the rotary part kept beside it (MLA)."""
    kv_heads: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Key/value heads (MHA, GQA, MQA)."""
    head_dim: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Width of a head (MHA, GQA, MQA)."""


class Model(ApiModel):
    """The model, as far as its KV cache goes."""

    name: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$", min_length=1, max_length=253)]
    """Free text. A known name (DeepSeek-V2-Lite, V2, V3, R1, Kimi-K2, with or without the publisher) fills in
    `attention` and `geometry`."""
    attention: Attention | None = None
    """How attention lays out the KV cache; may be left out for a known name."""
    geometry: GeometrySpec | None = None
    """The shape of the KV cache; may be left out for a known name."""
    kv_cache_dtype: KvCacheDtype = KvCacheDtype.BFLOAT16
    """The element type of the KV cache, the same on both roles."""
    page_size: Count = 64
    """Tokens in a page, the same on both roles."""


class ParallelismSpec(ApiModel):
    """How one replica is spread over ranks. Attention TP is tensor / context / data, exactly."""

    tensor: Count
    """Ranks of the whole tensor-parallel group, context and data groups included."""
    context: Count = 1
    """Context-parallel groups in it."""
    data: Count = 1
    """Data-parallel attention groups in it."""
    pipeline: Count = 1
    """Pipeline stages; a replica has tensor x pipeline ranks."""


class RoleSpec(ApiModel):
    """One role: prefill or decode."""

    replicas: Annotated[int, Field(ge=0, le=1024)] = 1
    """How many replicas; each is one pod."""
    parallelism: ParallelismSpec
    """How one replica is spread over ranks."""
    template: PodTemplate = PodTemplate()
    """What to change in the pods."""


class Slo(ApiModel):
    """What bandwidth the link must keep."""

    min_bandwidth: Quantity
    """Bytes per second, as in 20G."""
    objective: Annotated[str, Field(pattern=r"^[0-9]{1,2}(\.[0-9]{1,4})?$", max_length=8)] = "99.5"
    """Percent of the time."""
    window: Annotated[str, Field(pattern=r"^[0-9]{1,3}[dh]$", max_length=4)] = "30d"
    """Over which time."""


class Verification(ApiModel):
    """How the workers' figures are checked against the expected replica factor."""

    source: VerificationSource = VerificationSource.SCRAPE
    """Where the workers' metrics are read; None turns the check off."""
    interval: Duration = "15s"
    """How often, from 1s to 1h."""
    tolerance: Annotated[str, Field(pattern=r"^0(\.[0-9]{1,4})?$", max_length=6)] = "0.05"
    """How far a ratio may be from the factor and still match, as a share of it, at most 0.25."""

    @property
    def interval_seconds(self) -> int:
        """The interval in seconds."""
        return duration_seconds(self.interval)

    @property
    def tolerance_fraction(self) -> Fraction:
        """The tolerance, exactly."""
        return Fraction(self.tolerance)


class Spec(ApiModel):
    """A prefill/decode-disaggregated model."""

    model: Model
    """The model, as far as its KV cache goes."""
    engine: Engine = Engine()
    """What runs in the worker pods."""
    transfer: Transfer = Transfer()
    """The link between prefill and decode."""
    prefill: RoleSpec
    """The pods that compute the KV cache and send it."""
    decode: RoleSpec
    """The pods that receive it."""
    slo: Slo | None = None
    """What bandwidth the link must keep."""
    verification: Verification = Verification()
    """How the workers' figures are checked."""


def duration_seconds(text: str) -> int:
    """Seconds of a duration such as 1m30s; its form has been checked by the schema."""
    seconds, digits = 0, ""
    for character in text:
        if character.isdigit():
            digits += character
        else:
            seconds += int(digits) * {"h": 3600, "m": 60, "s": 1}[character]
            digits = ""
    return seconds
