import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pdoperator.api.types import NAME_LIMIT
from pdoperator.plan.names import Owner
from pdoperator.plan.plan import digest
from tests.support.builders import OWNER, a_pddeployment, changed, manifests, sizes

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
REVISION_LENGTH = 11  # a dash and ten characters, which the StatefulSet controller puts after its name in a label
ORDINAL_LENGTH = 5  # a dash and four digits

FOUND = manifests(a_pddeployment())
EVERY_MANIFEST = pytest.mark.parametrize("manifest", [pytest.param(each, id=name) for name, each in FOUND.items()])


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def test_the_children_in_the_order_in_which_they_are_applied() -> None:
    assert list(FOUND) == [
        "ServiceAccount/v2-lite",
        "NetworkPolicy/v2-lite",
        "NetworkPolicy/v2-lite-router",
        "Service/v2-lite-prefill",
        "Service/v2-lite-decode",
        "Service/v2-lite-router",
        "PodDisruptionBudget/v2-lite-prefill",
        "PodDisruptionBudget/v2-lite-decode",
        "StatefulSet/v2-lite-prefill",
        "StatefulSet/v2-lite-decode",
        "Deployment/v2-lite-router",
    ]


@pytest.mark.case("E-16")
@EVERY_MANIFEST
def test_every_child_is_owned_so_that_it_goes_with_its_owner(manifest: dict[str, Any]) -> None:
    assert manifest["metadata"]["namespace"] == "models"
    assert manifest["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "pdoperator.io/v1alpha1",
            "kind": "PDDeployment",
            "name": "v2-lite",
            "uid": "11111111-2222-3333-4444-555555555555",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


@EVERY_MANIFEST
def test_every_child_is_found_by_label(manifest: dict[str, Any]) -> None:
    labels = manifest["metadata"]["labels"]
    assert labels["pdoperator.io/deployment"] == "v2-lite"
    assert labels["app.kubernetes.io/instance"] == "v2-lite"
    assert labels["app.kubernetes.io/name"] == "pd-operator-worker"
    assert labels["app.kubernetes.io/managed-by"] == "pd-operator"


@EVERY_MANIFEST
def test_no_child_holds_what_server_side_apply_would_fight_over(manifest: dict[str, Any]) -> None:
    assert "status" not in manifest
    assert "creationTimestamp" not in manifest["metadata"]
    assert None not in list(leaves(manifest))


@EVERY_MANIFEST
def test_a_childs_digest_does_not_depend_on_the_order_of_its_fields(manifest: dict[str, Any]) -> None:
    shuffled = json.loads(json.dumps(manifest, sort_keys=True))
    assert digest(shuffled) == digest(manifest)
    assert digest({**manifest, "kind": "Other"}) != digest(manifest)


@pytest.mark.case("E-01")
@pytest.mark.parametrize(
    "model",
    [
        pytest.param("meta-llama/Llama-3.2-3B-Instruct", id="with a slash"),
        pytest.param("Qwen/Qwen3-32B", id="short, with a slash"),
        pytest.param("m" * 120, id="of 120 characters"),
        pytest.param("Qwen3+32B-模型", id="with a plus and other letters"),
    ],
)
def test_the_model_name_is_in_annotations_and_never_in_labels_or_selectors(model: str) -> None:
    found = manifests(changed(a_pddeployment(), "spec.model.name", model))
    plain = {name: _labels(each) for name, each in FOUND.items()}
    assert {name: _labels(each) for name, each in found.items()} == plain
    for role in ("prefill", "decode"):
        workload = found[f"StatefulSet/v2-lite-{role}"]
        assert workload["metadata"]["annotations"]["pdoperator.io/model"] == model
        assert workload["spec"]["template"]["metadata"]["annotations"]["pdoperator.io/model"] == model


def test_the_bootstrap_port_is_announced_on_prefill_pods_alone() -> None:
    for role, port in (("prefill", "8998"), ("decode", None)):
        metadata = FOUND[f"StatefulSet/v2-lite-{role}"]["spec"]["template"]["metadata"]
        assert metadata["annotations"].get("sglang.ai/bootstrap-port") == port


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_selectors_are_the_two_labels_that_never_change_and_the_pods_have_them(role: str) -> None:
    spec = FOUND[f"StatefulSet/v2-lite-{role}"]["spec"]
    wanted = {"pdoperator.io/deployment": "v2-lite", "pdoperator.io/role": role}
    assert spec["selector"] == {"matchLabels": wanted}
    assert wanted.items() <= spec["template"]["metadata"]["labels"].items()
    assert FOUND[f"PodDisruptionBudget/v2-lite-{role}"]["spec"]["selector"] == {"matchLabels": wanted}


def test_workers_start_all_at_once_and_are_replaced_when_the_template_changes() -> None:
    spec = FOUND["StatefulSet/v2-lite-prefill"]["spec"]
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {"type": "RollingUpdate"}


def test_a_budget_neither_blocks_a_drain_nor_lets_all_go() -> None:
    spec = FOUND["PodDisruptionBudget/v2-lite-decode"]["spec"]
    assert spec["maxUnavailable"] == 1
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@pytest.mark.case("E-02")
@given(name=st.from_regex(r"[a-z]([-a-z0-9]{0,42}[a-z0-9])?", fullmatch=True).filter(lambda n: len(n) <= NAME_LIMIT))
def test_every_name_that_is_accepted_fits_all_that_derives_from_it(name: str) -> None:
    owner = Owner(namespace="models", name=name, uid="u")
    for key, manifest in manifests(a_pddeployment(name), owner=owner).items():
        assert len(manifest["metadata"]["name"]) <= 63
        if key.startswith("StatefulSet/"):
            assert len(manifest["metadata"]["name"]) + REVISION_LENGTH <= 63
            assert len(manifest["metadata"]["name"]) + ORDINAL_LENGTH <= 63
        for value in _labels(manifest).values():
            assert len(value) <= 63
            assert LABEL_VALUE.fullmatch(value)


REPLICAS = st.integers(min_value=0, max_value=1024)


@given(prefill=REPLICAS, decode=REPLICAS)
def test_replica_counts_change_nothing_but_themselves(prefill: int, decode: int) -> None:
    scaled = manifests(
        a_pddeployment(prefill={**sizes(4, context=4), "replicas": prefill}, decode={**sizes(4), "replicas": decode})
    )
    assert scaled["StatefulSet/v2-lite-prefill"]["spec"]["replicas"] == prefill
    assert scaled["StatefulSet/v2-lite-decode"]["spec"]["replicas"] == decode
    for name, manifest in scaled.items():
        manifest["spec"] = {**manifest.get("spec", {}), "replicas": None}
        assert manifest == {**FOUND[name], "spec": {**FOUND[name].get("spec", {}), "replicas": None}}


def test_the_same_spec_gives_the_same_plan() -> None:
    again = manifests(a_pddeployment())
    assert {name: digest(each) for name, each in again.items()} == {name: digest(each) for name, each in FOUND.items()}


@pytest.mark.parametrize(
    ("example", "factor"),
    [("mla-cp4-tp4", "4"), ("legacy-accounting", "4"), ("mla-cp8-tp8", "8")],
)
def test_an_example_plans_the_factor_that_it_tells(example: str, factor: str) -> None:
    obj = yaml.safe_load(next(path for path in EXAMPLES if path.stem == example).read_text())
    owner = Owner(namespace=OWNER.namespace, name=obj["metadata"]["name"], uid=OWNER.uid)
    workload = manifests(obj, owner=owner)[f"StatefulSet/{example}-prefill"]
    env = {each["name"]: each.get("value") for each in workload["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env["PD_EXPECTED_REPLICA_FACTOR"] == factor
    assert env.get("PD_LEGACY_ACCOUNTING") == ("1" if example == "legacy-accounting" else None)


def test_every_example_is_listed_above() -> None:
    assert [path.stem for path in EXAMPLES] == ["legacy-accounting", "mla-cp4-tp4", "mla-cp8-tp8"]


def _labels(manifest: Mapping[str, Any]) -> dict[str, str]:
    template = manifest.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    selector = manifest.get("spec", {}).get("selector", {})
    return {**manifest["metadata"]["labels"], **template, **selector.get("matchLabels", {})}
