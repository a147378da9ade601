import json
from typing import Any

import pytest

from pdoperator.api.errors import Invalid
from pdoperator.api.types import Spec
from pdoperator.plan.environment import worker_environment
from pdoperator.plan.topology import topology_of
from pdoperator.topology.role import Role
from pdoperator.topology.traffic import MhaGeometry, MlaGeometry
from tests.support.builders import OWNER, a_pddeployment, changed, sizes

MHA = {"name": "acme/heads", "attention": "MHA", "geometry": {"layers": 32, "kvHeads": 8, "headDim": 128}}


def unchecked(obj: dict[str, Any]) -> Spec:
    """A spec by types alone: what the rules refuse today, a later version may let through."""
    return Spec.model_validate_json(json.dumps(obj["spec"]))


def test_an_mla_spec_has_an_mla_geometry() -> None:
    assert topology_of(unchecked(a_pddeployment())).geometry == MlaGeometry(27, 512, 64)


def test_a_spec_with_heads_has_theirs_and_factor_one() -> None:
    found = topology_of(unchecked(a_pddeployment(model=MHA)))
    assert found.geometry == MhaGeometry(32, kv_heads=8, head_dim=128)
    assert found.expected_factor == 1
    assert found.kv_bytes_per_token == 131_072


def test_workers_of_an_unknown_factor_are_told_none() -> None:
    spec = unchecked(a_pddeployment(model=MHA | {"attention": "HybridSWA"}))
    env = worker_environment(owner=OWNER, role=Role.PREFILL, spec=spec, topology=topology_of(spec))
    names = {each["name"] for each in env}
    assert "PD_EXPECTED_REPLICA_FACTOR" not in names
    assert not {"PD_KV_LORA_RANK", "PD_QK_ROPE_HEAD_DIM"} & names


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        pytest.param(a_pddeployment(prefill=sizes(8, context=3)), "spec.prefill.parallelism", id="a rest"),
        pytest.param(a_pddeployment(decode=sizes(3), prefill=sizes(4)), "spec", id="no pairs"),
        pytest.param(a_pddeployment(model={"name": "acme/new"}), "spec.model.attention", id="no attention"),
        pytest.param(
            changed(a_pddeployment(), "spec.model.geometry", {"layers": 2}), "spec.model.geometry", id="half a geometry"
        ),
    ],
)
def test_what_cannot_run_is_refused_before_any_pod(obj: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        topology_of(unchecked(obj))
    assert refused.value.field == field
