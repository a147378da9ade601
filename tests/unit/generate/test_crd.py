"""The generated files are those of the models, and the schema holds to what makes it safe to serve."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pdoperator.generate.crd import crd

VERSION = crd()["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema below this one, with its path."""
    yield path, schema
    for name, each in schema.get("properties", {}).items():
        yield from nodes(each, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}.{key}")


SPEC_NODES = [pytest.param(node, id=path) for path, node in nodes(SCHEMA["properties"]["spec"], "spec")]


@pytest.mark.parametrize("node", SPEC_NODES)
def test_every_size_in_the_spec_is_bounded(node: dict[str, Any]) -> None:
    match node.get("type"):
        case "string":
            assert "maxLength" in node
        case "array":
            assert "maxItems" in node
        case "integer":
            assert "maximum" in node
            assert "minimum" in node
        case "object":
            assert "properties" in node or "maxProperties" in node
        case None:
            assert node["x-kubernetes-int-or-string"]
            assert "maxLength" in node


@pytest.mark.case("E-04")
@pytest.mark.parametrize("node", SPEC_NODES)
def test_the_spec_has_no_floats_no_nulls_and_no_open_objects(node: dict[str, Any]) -> None:
    assert node.get("type") != "number"
    assert "nullable" not in node
    assert "x-kubernetes-preserve-unknown-fields" not in node
    assert "default" not in node or node["default"] is not None


def test_every_field_of_the_spec_is_described() -> None:
    fields = [
        (path, each)
        for path, node in nodes(SCHEMA["properties"]["spec"], "spec")
        for each in node.get("properties", {}).values()
    ]
    assert [path for path, each in fields if not each.get("description")] == []


def test_every_rule_has_a_message_for_when_its_expression_fails() -> None:
    rules = [rule for _, node in nodes(SCHEMA) for rule in node.get("x-kubernetes-validations", [])]
    assert len(rules) > 30
    assert all(rule["message"] for rule in rules)


@pytest.mark.case("E-04")
def test_the_sizes_are_required() -> None:
    spec = SCHEMA["properties"]["spec"]
    assert SCHEMA["required"] == ["spec"]
    assert set(spec["required"]) == {"model", "prefill", "decode"}
    assert spec["properties"]["prefill"]["required"] == ["parallelism"]
    assert spec["properties"]["prefill"]["properties"]["parallelism"]["required"] == ["tensor"]


def test_conditions_are_found_by_type() -> None:
    conditions = SCHEMA["properties"]["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_columns() -> None:
    names = [column["name"] for column in VERSION["additionalPrinterColumns"]]
    assert names == ["Ready", "P", "D", "Factor", "Backend", "Transport", "Bandwidth", "SLO", "Age"]


@pytest.mark.case("E-14")
def test_it_fits_into_an_annotation_twice_over() -> None:
    assert len(json.dumps(crd())) < 262_144 / 2
