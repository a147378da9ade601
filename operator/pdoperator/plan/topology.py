"""From a parsed spec to its topology."""

from pdoperator.api.enums import Attention
from pdoperator.api.errors import Invalid
from pdoperator.api.types import Model, ParallelismSpec, Spec
from pdoperator.topology.parallelism import Parallelism
from pdoperator.topology.resolve import Refused, Topology, resolve
from pdoperator.topology.traffic import Geometry, MhaGeometry, MlaGeometry


def topology_of(spec: Spec) -> Topology:
    """The topology of a spec. Raises Invalid where it can't run."""
    resolved = resolve(
        prefill=_side(spec.prefill.parallelism),
        decode=_side(spec.decode.parallelism),
        attention=_attention(spec.model),
        geometry=_geometry(spec.model),
        page_size=spec.model.page_size,
        dtype=spec.model.kv_cache_dtype,
    )
    if isinstance(resolved, Refused):
        raise Invalid(resolved.field, resolved.message)
    return resolved


def _side(parallelism: ParallelismSpec) -> Parallelism:
    return Parallelism(
        tensor=parallelism.tensor,
        context=parallelism.context,
        data=parallelism.data,
        pipeline=parallelism.pipeline,
    )


def _attention(model: Model) -> Attention:
    if model.attention is None:
        raise Invalid("spec.model.attention", "required")
    return model.attention


def _geometry(model: Model) -> Geometry:
    given = model.geometry
    if given is not None and given.kv_lora_rank is not None and given.qk_rope_head_dim is not None:
        return MlaGeometry(given.layers, given.kv_lora_rank, given.qk_rope_head_dim)
    if given is not None and given.kv_heads is not None and given.head_dim is not None:
        return MhaGeometry(given.layers, given.kv_heads, given.head_dim)
    raise Invalid("spec.model.geometry", f"attention {model.attention} needs all of its fields")
