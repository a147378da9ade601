"""From pydantic's JSON schema to what Kubernetes calls a structural schema: no references, no unions, no null."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from pdoperator.api.rules.rule import EACH, Rule

Schema = dict[str, Any]

# What the API server refuses (additionalProperties beside properties) or has no use for.
_DROPPED = frozenset({"title", "$defs", "examples", "deprecated", "discriminator"})


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of a model."""
    raw = model.model_json_schema(by_alias=True)
    return _converted(raw, definitions=raw.get("$defs", {}))


def attach(schema: Schema, rules: tuple[Rule, ...]) -> None:
    """Put every rule at its place in the schema. A path that leads nowhere is a mistake of ours: KeyError."""
    for rule in rules:
        place = schema
        for step in rule.path:
            place = place["items"] if step == EACH else place["properties"][step]
        place.setdefault("x-kubernetes-validations", []).append(rule.schema())


def _converted(raw: Mapping[str, Any], *, definitions: Mapping[str, Any]) -> Schema:
    if "$ref" in raw:  # the field's own words win over those of the type
        target = definitions[raw["$ref"].rpartition("/")[2]]
        raw = {**target, **{key: value for key, value in raw.items() if key != "$ref"}}
    if "x-kubernetes-int-or-string" in raw:
        return {key: value for key, value in raw.items() if key not in _DROPPED}
    if "anyOf" in raw:  # only ever "T or null": the server drops nulls by itself
        (kind,) = [each for each in raw["anyOf"] if each.get("type") != "null"]
        rest = {key: value for key, value in raw.items() if key not in {"anyOf", "default"}}
        return _converted({**kind, **rest}, definitions=definitions)
    schema = {key: _keyword(key, value, definitions=definitions) for key, value in raw.items() if key not in _DROPPED}
    return _tidied(schema)


def _keyword(key: str, value: Any, *, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- any JSON value
    match key:
        case "properties":
            return {name: _converted(each, definitions=definitions) for name, each in value.items()}
        case "items":
            return _converted(value, definitions=definitions)
        case "additionalProperties" if isinstance(value, dict):
            return _converted(value, definitions=definitions)
        case "description":
            return " ".join(value.split())
        case _:
            return value


def _tidied(schema: Schema) -> Schema:
    if schema.get("additionalProperties") is False:
        del schema["additionalProperties"]  # unknown fields are pruned, or refused by a client that asks for it
    match schema.get("type"):
        case "object" if "default" in schema:
            schema["default"] = {}  # the fields inside have their own
        case "array":
            schema.pop("default", None)  # an absent list stays absent
        case "integer" if schema.get("maximum", 2**31) < 2**31:
            schema["format"] = "int32"
    if "enum" in schema:
        schema["description"] = schema.get("description", "").strip()
        schema.setdefault("maxLength", max(len(value) for value in schema["enum"]))
    return schema
