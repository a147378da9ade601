"""Known models and the shape of their KV cache.

The figures are those of each model's published configuration. A name counts as known when what follows its last slash
is one of these, whoever publishes it; anything else needs its geometry in the spec, never a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pdoperator.api.enums import Attention


@dataclass(frozen=True, slots=True)
class Known:
    """What a known name stands for."""

    attention: Attention
    layers: int
    kv_lora_rank: int
    qk_rope_head_dim: int


def _mla(layers: int) -> Known:
    return Known(Attention.MLA, layers=layers, kv_lora_rank=512, qk_rope_head_dim=64)


_V2_LITE, _V2, _V3 = _mla(27), _mla(60), _mla(61)

MODELS: Mapping[str, Known] = MappingProxyType({
    "DeepSeek-V2-Lite": _V2_LITE,
    "DeepSeek-V2-Lite-Chat": _V2_LITE,
    "DeepSeek-V2": _V2,
    "DeepSeek-V2-Chat": _V2,
    "DeepSeek-V3": _V3,
    "DeepSeek-V3-Base": _V3,
    "DeepSeek-V3-0324": _V3,
    "DeepSeek-R1": _V3,
    "DeepSeek-R1-Zero": _V3,
    "DeepSeek-R1-0528": _V3,
    "Kimi-K2": _V3,
    "Kimi-K2-Base": _V3,
    "Kimi-K2-Instruct": _V3,
    "Kimi-K2-Instruct-0905": _V3,
})  # fmt: skip


def find(name: str) -> Known | None:
    """The known model of this name, if it is one."""
    return MODELS.get(name.rpartition("/")[2])
