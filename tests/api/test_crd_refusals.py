"""What a real API server refuses, through the generated CustomResourceDefinition and without strict validation."""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.apiserver import Apiserver
from tests.support.bad_specs import RULES, SCHEMA, UNSUPPORTED, Bad
from tests.support.builders import a_pddeployment, changed
from tests.support.crd import install_crd


@pytest.fixture(scope="module")
def server(apiserver: Apiserver) -> Apiserver:
    install_crd(apiserver)
    return apiserver


def create(server: Apiserver, obj: Mapping[str, Any], *, validate: str = "ignore") -> subprocess.CompletedProcess[str]:
    """Try to create, on the server and without storing; kubectl itself checks nothing."""
    arguments = ("create", f"--validate={validate}", "--dry-run=server", "-o", "json", "-f", "-")
    return server.kubectl(*arguments, stdin=json.dumps(obj), check=False)


def mistaken(bad: Bad) -> dict[str, Any]:
    if bad.path == "spec":
        return a_pddeployment(**bad.value)  # type: ignore[arg-type] # a spec is a mapping
    return changed(a_pddeployment(), bad.path, bad.value)


@pytest.mark.case("E-05")
@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in SCHEMA.items()])
def test_the_schema_refuses_and_names_the_field(server: Apiserver, bad: Bad) -> None:
    result = create(server, mistaken(bad))
    assert result.returncode != 0
    assert bad.field in result.stderr


@pytest.mark.case("E-05")
@pytest.mark.case("E-15")
@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in (RULES | UNSUPPORTED).items()])
def test_a_rule_refuses_in_the_words_of_the_operator(server: Apiserver, bad: Bad) -> None:
    result = create(server, mistaken(bad))
    assert result.returncode != 0
    assert bad.field in result.stderr
    assert bad.says in result.stderr


@pytest.mark.case("E-02")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("a" * 44, None, id="44 characters fit"),
        pytest.param("a" * 45, "metadata.name has 45 characters, at most 44 are allowed", id="45"),
        pytest.param("a" * 52, "metadata.name has 52 characters, at most 44 are allowed", id="52"),
        pytest.param("a" * 53, "metadata.name has 53 characters, at most 44 are allowed", id="53"),
        pytest.param("a" * 63, "metadata.name has 63 characters, at most 44 are allowed", id="63"),
        pytest.param(
            "deepseek-r1-0528-long-context-production-eu-west-1-blue-canary-a",
            "metadata.name has 64 characters, at most 44 are allowed",
            id="64",
        ),
        pytest.param("a" * 253, "metadata.name has 253 characters, at most 44 are allowed", id="253"),
        pytest.param(
            "1st", "metadata.name 1st must be lower-case letters", id="a digit first, which no Service may have"
        ),
        pytest.param(
            "v2.lite", "metadata.name v2.lite must be lower-case letters", id="a dot, which no Service may have"
        ),
    ],
)
def test_a_name_fits_all_that_derives_from_it_or_is_refused(server: Apiserver, name: str, says: str | None) -> None:
    result = create(server, a_pddeployment(name))
    assert (result.returncode == 0) == (says is None)
    assert (says or "") in result.stderr


@pytest.mark.case("E-04")
@pytest.mark.parametrize(
    ("misplaced", "missing"),
    [
        pytest.param({"decode": {"tpSize": 8}}, "spec.decode.parallelism", id="tpSize beside the sizes"),
        pytest.param({"decode": {"parallelism": {"tp": 8}}}, "spec.decode.parallelism.tensor", id="tp for tensor"),
        pytest.param({"prefill": None, "prefil": {"parallelism": {"tensor": 4}}}, "spec.prefill", id="prefil"),
        pytest.param({"prefill": {"replicas": 1}, "tp": 8}, "spec.prefill.parallelism", id="tp at the top"),
    ],
)
def test_a_misspelt_size_is_a_missing_one(server: Apiserver, misplaced: dict[str, Any], missing: str) -> None:
    result = create(server, a_pddeployment(**misplaced))
    assert result.returncode != 0
    assert f"{missing}: Required value" in result.stderr


@pytest.mark.case("E-04")
def test_an_unknown_field_is_named_to_who_asks(server: Apiserver) -> None:
    obj = changed(a_pddeployment(), "spec.decode.tpSize", 8)
    assert 'unknown field "spec.decode.tpSize"' in create(server, obj, validate="strict").stderr
    warned = create(server, obj, validate="warn")
    assert warned.returncode == 0
    assert 'unknown field "spec.decode.tpSize"' in warned.stderr


def test_nothing_in_the_spec_is_an_error_with_its_field(server: Apiserver) -> None:
    result = create(server, {"apiVersion": "pdoperator.io/v1alpha1", "kind": "PDDeployment", "metadata": {"name": "x"}})
    assert "spec: Required value" in result.stderr


@pytest.mark.case("E-05")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("spec.decode.replicas", 0, id="no replicas"),
        pytest.param("spec.decode.parallelism.tensor", 1, id="one rank"),
        pytest.param("spec.decode.parallelism.tensor", 32, id="as many as a pod holds"),
        pytest.param("spec.prefill.template.resources.limits", {"memory": "400Gi", "cpu": "500m"}, id="quantities"),
        pytest.param("spec.prefill.template.resources.limits", {"nvidia.com/gpu": 4, "rdma/hca": "1"}, id="devices"),
        pytest.param("spec.model.name", "Qwen/Qwen3+32B-模型", id="a name in any letters"),
        pytest.param("spec.engine.env", [{"name": "PD_LEGACY_ACCOUNTING", "value": "1"}], id="the proof's variable"),
        pytest.param("spec.engine.env", [{"name": "MC_LOG_LEVEL", "value": "INFO"}, {"name": "UCX_TLS"}], id="tuning"),
        pytest.param("spec.verification", {"source": "None", "interval": "1h", "tolerance": "0"}, id="no check"),
        pytest.param("spec.transfer.transport", "Auto", id="any transport"),
    ],
)
def test_what_is_right_is_accepted(server: Apiserver, path: str, value: object) -> None:
    result = create(server, changed(a_pddeployment(), path, value), validate="strict")
    assert result.returncode == 0, result.stderr


def test_an_update_that_breaks_a_rule_leaves_the_object_as_it_was(server: Apiserver) -> None:
    server.apply(changed(a_pddeployment("updated"), "metadata.namespace", "default"))
    before = server.get("pdd", "updated")
    patch = json.dumps({"spec": {"prefill": {"parallelism": {"context": 3}}}})
    refused = server.kubectl("patch", "pdd", "updated", "--type=merge", "-p", patch, check=False)
    assert "tensor 4 is not a multiple of context 3" in refused.stderr
    assert server.get("pdd", "updated") == before
