"""From the object as stored to a Spec, or to the reason why not: the same rules as at admission.

Admission already refuses all this, so only what slipped through arrives here: an object older than a rule, an API
server without the schema, or a file read without a cluster.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from pdoperator.api import catalog
from pdoperator.api.errors import Invalid
from pdoperator.api.rules.pddeployment import RULES
from pdoperator.api.rules.rule import check
from pdoperator.api.types import GeometrySpec, Spec

MESSAGE_LIMIT = 200  # a value in a message is for reading, not for keeping


def parse(obj: Mapping[str, Any]) -> Spec:
    """The spec with every default and the geometry filled in. Raises Invalid or Unsupported for the first mistake."""
    spec = _with_geometry(_validated(obj.get("spec", {})))
    name = obj.get("metadata", {}).get("name", "")
    check(RULES, {"metadata": {"name": name}, "spec": spec.model_dump(mode="json", by_alias=True, exclude_none=True)})
    return spec


def _validated(spec: object) -> Spec:
    try:
        # Through JSON, as strict types then still take an enum's text.
        parsed = Spec.model_validate_json(json.dumps(spec))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Invalid(_field(first["loc"]), _message(first)) from None
    _refuse_duplicates("spec.engine.env", [env.name for env in parsed.engine.env])
    return parsed


def _with_geometry(spec: Spec) -> Spec:
    model, known = spec.model, catalog.find(spec.model.name)
    attention, geometry = model.attention, model.geometry
    if attention is None and known is not None:
        attention = known.attention
    if geometry is None and known is not None and attention is known.attention:
        geometry = GeometrySpec.model_construct(
            layers=known.layers, kv_lora_rank=known.kv_lora_rank, qk_rope_head_dim=known.qk_rope_head_dim
        )
    for field, value in (("attention", attention), ("geometry", geometry)):
        if value is None:
            raise Invalid(f"spec.model.{field}", f"required, as model name {model.name} is not a known one")
    filled = model.model_copy(update={"attention": attention, "geometry": geometry})
    return spec.model_copy(update={"model": filled})


def _refuse_duplicates(field: str, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise Invalid(f"{field}[{index}]", f"name {name} is there twice")


def _field(location: Sequence[str | int]) -> str:
    field = "spec"
    for step in location:
        field += f"[{step}]" if isinstance(step, int) else f".{step}"
    return field


def _message(error: Mapping[str, Any]) -> str:
    match error["type"]:
        case "missing":
            return "required"
        case "extra_forbidden":
            return "is no field of the API"
    value = json.dumps(error["input"], ensure_ascii=False, default=str)
    return f"{str(error['msg']).removeprefix('Input ')}, not {value[:MESSAGE_LIMIT]}"
