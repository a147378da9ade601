"""The CustomResourceDefinition itself, and every manifest of the examples, on a real API server."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.apiserver import Apiserver
from tests.support.builders import OWNER, a_pddeployment, changed, manifests
from tests.support.crd import CRD, install_crd

EXAMPLES = sorted((CRD.parents[1] / "examples").glob("*.yaml"))
ANNOTATION_LIMIT = 262_144  # of all annotations together; client-side apply keeps the whole object in one

STATUS = {
    "observedGeneration": 1,
    "topology": {
        "prefill": {
            "attentionTensorParallel": 1, "attentionContextParallel": 4, "podsPerReplica": 1, "gpusPerReplica": 4,
        },
        "decode": {
            "attentionTensorParallel": 4, "attentionContextParallel": 1, "podsPerReplica": 1, "gpusPerReplica": 4,
        },
        "expectedReplicaFactor": 4,
        "derivation": "decode attention TP 4 / prefill attention TP 1 (tensor 4 / context 4) = 4",
        "kvBytesPerToken": 31104,
    },
    "prefill": {"replicas": 1, "readyReplicas": 1, "selector": "pdoperator.io/role=prefill", "summary": "1/1"},
    "decode": {"replicas": 2, "readyReplicas": 1, "selector": "pdoperator.io/role=decode", "summary": "1/2"},
    "observed": {"replicaFactor": "1", "bandwidth": "1.2 GB/s"},
    "factor": "1/4",
    "bandwidth": "1.2 GB/s",
    "slo": "",
    "conditions": [
        {
            "type": "Ready", "status": "True", "reason": "Serving", "message": "one pair is ready",
            "observedGeneration": 1, "lastTransitionTime": "2026-12-01T04:00:00Z",
        },
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def server(apiserver: Apiserver) -> Apiserver:
    install_crd(apiserver)
    return apiserver


@pytest.mark.case("E-14")
def test_client_side_apply_works_twice_with_room_to_spare(server: Apiserver) -> None:
    # Of a copy in another group, as the shared one is applied server-side.
    other = yaml.safe_load(CRD.read_text())
    other["spec"]["group"] = "twice.example"
    other["metadata"]["name"] = "pddeployments.twice.example"
    other["spec"]["names"] |= {"shortNames": ["twice"], "categories": ["twice"]}
    text = json.dumps(other)
    assert len(text) < ANNOTATION_LIMIT / 2
    assert "created" in server.kubectl("apply", "-f", "-", stdin=text).stdout
    assert "unchanged" in server.kubectl("apply", "-f", "-", stdin=text).stdout
    server.kubectl("delete", "crd", "pddeployments.twice.example")


def test_the_api_server_finds_the_schema_structural(server: Apiserver) -> None:
    conditions = server.get("crd", "pddeployments.pdoperator.io")["status"]["conditions"]
    found = {each["type"]: each["status"] for each in conditions}
    assert found["Established"] == "True"
    assert found["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in found


def test_the_short_name_and_the_category_lead_to_it(server: Apiserver) -> None:
    assert server.kubectl("get", "pdd", "-n", "kube-public").returncode == 0
    assert server.kubectl("get", "pd", "-n", "kube-public").returncode == 0


def test_defaults_are_filled_in_by_the_server(server: Apiserver) -> None:
    obj = changed(a_pddeployment("defaults"), "metadata.namespace", "default")
    del obj["spec"]["transfer"]
    server.apply(obj)
    spec = server.get("pdd", "defaults")["spec"]
    assert spec["engine"] == {"name": "Builtin"}
    assert spec["transfer"] == {"backend": "Mooncake", "transport": "RDMA"}
    assert spec["verification"] == {"source": "Scrape", "interval": "15s", "tolerance": "0.05"}
    assert spec["decode"]["replicas"] == 1
    assert spec["decode"]["parallelism"] == {"tensor": 4, "context": 1, "data": 1, "pipeline": 1}


@pytest.mark.case("E-08")
def test_status_is_kept_whole_and_shown_in_the_columns(server: Apiserver) -> None:
    obj = changed(a_pddeployment("told"), "metadata.namespace", "default")
    server.apply(obj)
    told = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": obj["metadata"], "status": STATUS}
    arguments = ("apply", "--server-side", "--subresource=status", "--field-manager=pd-operator", "--validate=strict")
    server.kubectl(*arguments, "-f", "-", stdin=json.dumps(told))
    assert server.get("pdd", "told")["status"] == STATUS
    header, row = server.kubectl("get", "pdd", "told").stdout.splitlines()
    assert header.split() == ["NAME", "READY", "P", "D", "FACTOR", "BACKEND", "TRANSPORT", "BANDWIDTH", "SLO", "AGE"]
    assert row.split()[:9] == ["told", "True", "1/1", "1/2", "1/4", "Mooncake", "TCP", "1.2", "GB/s"]


@pytest.mark.parametrize("example", [pytest.param(path, id=path.stem) for path in EXAMPLES])
def test_an_example_and_all_its_manifests_are_true_to_the_schemas(server: Apiserver, example: Path) -> None:
    text = example.read_text()
    server.kubectl("create", "--dry-run=server", "--validate=strict", "-n", "default", "-f", "-", stdin=text)
    _apply_strictly(server, list(manifests(yaml.safe_load(text)).values()))


@pytest.mark.case("E-01")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("meta-llama/Llama-3.2-3B-Instruct", id="with a slash"),
        pytest.param("Qwen/Qwen3-32B", id="short, with a slash"),
        pytest.param("m" * 120, id="of 120 characters"),
        pytest.param("Qwen3+32B-模型", id="with a plus and other letters"),
    ],
)
def test_any_model_name_makes_objects_that_the_server_takes(server: Apiserver, name: str) -> None:
    _apply_strictly(server, list(manifests(changed(a_pddeployment(), "spec.model.name", name)).values()))


def test_the_longest_name_makes_objects_that_the_server_takes(server: Apiserver) -> None:
    _apply_strictly(server, list(manifests(a_pddeployment("n" * 44)).values()))


def test_every_field_of_a_template_makes_objects_that_the_server_takes(server: Apiserver) -> None:
    template = {
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "1Gi", "rdma/hca": 1}},
        "shmSize": "20Gi",
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "registry"}],
    }
    _apply_strictly(server, list(manifests(changed(a_pddeployment(), "spec.prefill.template", template)).values()))


def _apply_strictly(server: Apiserver, items: list[dict[str, Any]]) -> None:
    """Server-side apply as the operator does it, which refuses unknown fields and duplicate keys, without storing."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWNER.namespace}}
    server.apply(namespace)
    flags = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "--field-manager=pd-operator")
    server.kubectl(*flags, "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
