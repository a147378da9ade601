"""What every model of the API shares, and the scalar types with their bounds."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

# Kubernetes' own grammar of quantities, less the sign: nothing here can be negative.
QUANTITY_PATTERN = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[mkMGTPE]|[eE][+-]?[0-9]+)?$"
QUANTITY_LIMIT = 32
LABEL_VALUE_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
SUBDOMAIN_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"


class ApiModel(BaseModel):
    """An object of the API: closed, immutable, camelCase outside."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
    )


def list_map(*keys: str) -> dict[str, Any]:
    """Schema keys of a list whose items are found by their key fields."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def _quantity(value: object) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and len(value) <= QUANTITY_LIMIT and re.search(QUANTITY_PATTERN, value):
        return value
    raise PydanticCustomError("quantity", "should be a quantity such as 500m, 8 or 20Gi")


Count = Annotated[int, Field(ge=1, le=1024)]
Quantity = Annotated[
    int | str,
    PlainValidator(_quantity),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "minimum": 0,
            "pattern": QUANTITY_PATTERN,
            "maxLength": QUANTITY_LIMIT,
        }
    ),
]
Duration = Annotated[str, Field(pattern=r"^([0-9]{1,3}h)?([0-9]{1,4}m)?([0-9]{1,5}s)?$", min_length=2, max_length=16)]
Subdomain = Annotated[str, Field(pattern=SUBDOMAIN_PATTERN, min_length=1, max_length=253)]
LabelValue = Annotated[str, Field(pattern=LABEL_VALUE_PATTERN, max_length=63)]
