"""Bytes of KV, by the model's geometry."""

from dataclasses import dataclass

from pdoperator.api.enums import KvCacheDtype


@dataclass(frozen=True, slots=True)
class MlaGeometry:
    """One latent vector and its rotary part per token and layer, the same on every rank."""

    layers: int
    kv_lora_rank: int
    qk_rope_head_dim: int

    @property
    def elements_per_token(self) -> int:
        """Elements of one token, over all layers."""
        return self.layers * (self.kv_lora_rank + self.qk_rope_head_dim)


@dataclass(frozen=True, slots=True)
class MhaGeometry:
    """A key and a value per head, token and layer; all heads together here."""

    layers: int
    kv_heads: int
    head_dim: int

    @property
    def elements_per_token(self) -> int:
        """Elements of one token, over all layers and heads."""
        return self.layers * 2 * self.kv_heads * self.head_dim


Geometry = MlaGeometry | MhaGeometry


def kv_bytes_per_token(geometry: Geometry, dtype: KvCacheDtype) -> int:
    """Bytes of one token, one copy."""
    return geometry.elements_per_token * dtype.element_bytes
