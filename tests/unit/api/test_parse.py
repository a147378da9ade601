from fractions import Fraction
from typing import Any

import pytest

from pdoperator.api.enums import Attention, Backend, EngineName, Transport, VerificationSource
from pdoperator.api.errors import Invalid, Unsupported
from pdoperator.api.parse import parse
from pdoperator.api.types import GeometrySpec, duration_seconds
from tests.support.bad_specs import RULES, SCHEMA, UNSUPPORTED, Bad
from tests.support.builders import a_pddeployment, changed


def mistaken(bad: Bad) -> dict[str, Any]:
    if bad.path == "spec":
        return a_pddeployment(**bad.value)  # type: ignore[arg-type] # a spec is a mapping
    return changed(a_pddeployment(), bad.path, bad.value)


@pytest.mark.case("E-05")
@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in SCHEMA.items()])
def test_what_the_schema_refuses_is_refused_here_too_with_its_field(bad: Bad) -> None:
    with pytest.raises(Invalid) as refused:
        parse(mistaken(bad))
    assert refused.value.field.startswith(bad.field)


@pytest.mark.case("E-05")
@pytest.mark.case("E-15")
@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in (RULES | UNSUPPORTED).items()])
def test_a_rule_speaks_in_the_words_of_admission(bad: Bad) -> None:
    with pytest.raises(Invalid) as refused:
        parse(mistaken(bad))
    assert refused.value.field == bad.field
    assert refused.value.message.startswith(bad.says)
    assert isinstance(refused.value, Unsupported) == bad.unsupported


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        pytest.param(
            "spec.prefill.parallelism.tensor", "8",
            'spec.prefill.parallelism.tensor: should be a valid integer, not "8"', id="text for a number",
        ),
        pytest.param(
            "spec.decode.parallelism.tensor", 3000000000,
            "spec.decode.parallelism.tensor: should be less than or equal to 1024, not 3000000000", id="too large",
        ),
        pytest.param("spec.tp", 8, "spec.tp: is no field of the API", id="an unknown field"),
        pytest.param("spec.decode", {"replicas": 1}, "spec.decode.parallelism: required", id="a missing field"),
        pytest.param(
            "spec.transfer.backend", "ucx",
            "spec.transfer.backend: should be 'Mooncake', 'NIXL' or 'MORI', not \"ucx\"", id="outside a closed set",
        ),
        pytest.param(
            "spec.decode.template.shmSize", "20GB",
            'spec.decode.template.shmSize: should be a quantity such as 500m, 8 or 20Gi, not "20GB"', id="no quantity",
        ),
        pytest.param("spec", [], "spec: should be an object, not []", id="no object at all"),
    ],
)  # fmt: skip
def test_messages_name_the_field_and_the_value(path: str, value: object, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(changed(a_pddeployment(), path, value))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("n" * 44, None, id="44 characters fit"),
        pytest.param("n" * 45, "metadata.name has 45 characters, at most 44 are allowed", id="45 don't"),
        pytest.param("1st", "metadata.name 1st must be lower-case letters", id="a digit first"),
        pytest.param("v2.lite", "metadata.name v2.lite must be lower-case letters", id="a dot"),
        pytest.param("v2-", "metadata.name v2- must be lower-case letters", id="a dash last"),
    ],
)
def test_names(name: str, message: str | None) -> None:
    if message is None:
        parse(a_pddeployment(name))
        return
    with pytest.raises(Invalid, match=message) as refused:
        parse(a_pddeployment(name))
    assert refused.value.field == "metadata.name"


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        pytest.param("deepseek-ai/DeepSeek-V2-Lite", 27, id="DeepSeek-V2-Lite"),
        pytest.param("DeepSeek-V2", 60, id="without its publisher"),
        pytest.param("deepseek-ai/DeepSeek-V3", 61, id="DeepSeek-V3"),
        pytest.param("/models/deepseek-ai/DeepSeek-R1", 61, id="as a path"),
        pytest.param("moonshotai/Kimi-K2-Instruct", 61, id="Kimi-K2"),
    ],
)
def test_a_known_name_fills_in_attention_and_geometry(name: str, layers: int) -> None:
    model = parse(a_pddeployment(model={"name": name})).model
    assert model.attention is Attention.MLA
    assert model.geometry == GeometrySpec.model_construct(layers=layers, kv_lora_rank=512, qk_rope_head_dim=64)


def test_a_given_geometry_is_taken_as_given() -> None:
    geometry = {"layers": 4, "kvLoraRank": 512, "qkRopeHeadDim": 64}
    model = parse(a_pddeployment(model={"name": "deepseek-ai/DeepSeek-R1", "geometry": geometry})).model
    assert model.geometry is not None
    assert model.geometry.layers == 4


@pytest.mark.parametrize(
    ("model", "field"),
    [
        pytest.param({"name": "acme/new"}, "spec.model.attention", id="attention first"),
        pytest.param({"name": "acme/new", "attention": "MLA"}, "spec.model.geometry", id="then geometry"),
        pytest.param({"name": "deepseek-r1"}, "spec.model.attention", id="names are not folded"),
    ],
)
def test_an_unknown_name_needs_it_said(model: dict[str, str], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(a_pddeployment(model=model))
    assert refused.value.field == field
    assert refused.value.message == f"required, as model name {model['name']} is not a known one"


def test_defaults() -> None:
    obj = a_pddeployment()
    del obj["spec"]["transfer"]
    spec = parse(obj)
    assert spec.engine.name is EngineName.BUILTIN
    assert (spec.transfer.backend, spec.transfer.transport) == (Backend.MOONCAKE, Transport.RDMA)
    assert (spec.prefill.replicas, spec.decode.replicas) == (1, 1)
    assert spec.verification.source is VerificationSource.SCRAPE
    assert spec.verification.interval_seconds == 15
    assert spec.verification.tolerance_fraction == Fraction(1, 20)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("1s", 1, id="a second"),
        pytest.param("1h", 3600, id="an hour"),
        pytest.param("1m30s", 90, id="mixed"),
        pytest.param("1h2m3s", 3723, id="all three"),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert duration_seconds(text) == seconds


def test_what_the_operator_does_not_read_of_an_object_is_left_alone() -> None:
    obj = a_pddeployment() | {"status": {"anything": 1}}
    obj["metadata"] |= {"uid": "u", "annotations": {"a": "b"}, "managedFields": [{}]}
    assert parse(obj).model.page_size == 64
