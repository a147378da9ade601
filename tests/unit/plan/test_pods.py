from typing import Any

import pytest

from pdoperator.plan.pods import PlanSettings
from tests.support.builders import SETTINGS, a_pddeployment, changed, manifests

PREFILL, DECODE, ROUTER = "StatefulSet/v2-lite-prefill", "StatefulSet/v2-lite-decode", "Deployment/v2-lite-router"
EVERY_WORKLOAD = pytest.mark.parametrize("workload", [PREFILL, DECODE, ROUTER])
WORKERS = pytest.mark.parametrize("workload", [PREFILL, DECODE])


def pod(obj: dict[str, Any], workload: str, settings: PlanSettings = SETTINGS) -> dict[str, Any]:
    spec: dict[str, Any] = manifests(obj, settings=settings)[workload]["spec"]["template"]["spec"]
    return spec


def container(obj: dict[str, Any], workload: str) -> dict[str, Any]:
    (only,) = pod(obj, workload)["containers"]
    found: dict[str, Any] = only
    return found


@pytest.mark.parametrize(
    ("workload", "command"),
    [
        pytest.param(PREFILL, ["pd-worker", "serve"], id="prefill"),
        pytest.param(DECODE, ["pd-worker", "serve"], id="decode"),
        pytest.param(ROUTER, ["pd-worker", "router"], id="router"),
    ],
)
def test_commands(workload: str, command: list[str]) -> None:
    assert container(a_pddeployment(), workload)["command"] == command


@EVERY_WORKLOAD
def test_the_image_is_the_operators_unless_the_spec_names_one(workload: str) -> None:
    assert container(a_pddeployment(), workload)["image"] == "registry.example/pd-worker:1"
    own = a_pddeployment(engine={"image": "registry.example/mine@sha256:abc"})
    assert container(own, workload)["image"] == "registry.example/mine@sha256:abc"


@EVERY_WORKLOAD
def test_pods_have_no_privilege_and_no_identity_to_use(workload: str) -> None:
    spec = pod(a_pddeployment(), workload)
    assert spec["automountServiceAccountToken"] is False
    assert spec["serviceAccountName"] == "v2-lite"
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 65532
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(a_pddeployment(), workload)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)


@pytest.mark.parametrize(
    ("transport", "workload", "added"),
    [
        pytest.param("TCP", PREFILL, None, id="TCP needs nothing"),
        pytest.param("RDMA", PREFILL, ["IPC_LOCK"], id="RDMA locks memory: prefill"),
        pytest.param("RDMA", DECODE, ["IPC_LOCK"], id="RDMA locks memory: decode"),
        pytest.param("Auto", DECODE, ["IPC_LOCK"], id="Auto may"),
        pytest.param("RDMA", ROUTER, None, id="the router moves no KV"),
    ],
)
def test_the_one_capability_is_there_only_where_memory_is_locked(
    transport: str, workload: str, added: list[str] | None
) -> None:
    obj = changed(a_pddeployment(), "spec.transfer.transport", transport)
    assert container(obj, workload)["securityContext"]["capabilities"].get("add") == added


@WORKERS
@pytest.mark.parametrize(
    ("given", "limit"),
    [
        pytest.param(None, "1Gi", id="unset"),
        pytest.param("20Gi", "20Gi", id="20Gi"),
        pytest.param(2**31, "2147483648", id="bytes"),
    ],
)
def test_shared_memory_is_larger_than_the_runtimes_64_mib(workload: str, given: object, limit: str) -> None:
    template = {} if given is None else {"shmSize": given}
    obj = changed(a_pddeployment(), "spec.prefill.template", template)
    obj = changed(obj, "spec.decode.template", template)
    volumes = {each["name"]: each for each in pod(obj, workload)["volumes"]}
    assert volumes["shm"]["emptyDir"] == {"medium": "Memory", "sizeLimit": limit}
    mounts = {each["name"]: each["mountPath"] for each in container(obj, workload)["volumeMounts"]}
    assert mounts["shm"] == "/dev/shm"  # noqa: S108 -- the pod's


@WORKERS
def test_a_slow_load_is_waited_for_and_a_hang_is_out_of_service_within_a_minute(workload: str) -> None:
    found = container(a_pddeployment(), workload)
    startup, readiness, liveness = found["startupProbe"], found["readinessProbe"], found["livenessProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 1800
    assert (readiness["periodSeconds"] + readiness["timeoutSeconds"]) * readiness["failureThreshold"] <= 60
    assert liveness["failureThreshold"] >= 3
    assert startup["httpGet"]["path"] == readiness["httpGet"]["path"] == "/ready"
    assert liveness["httpGet"]["path"] == "/livez"
    assert all("initialDelaySeconds" not in probe for probe in (startup, readiness, liveness))


@pytest.mark.parametrize(
    ("workload", "ports"),
    [
        pytest.param(PREFILL, [("http", 30000), ("bootstrap", 8998)], id="prefill"),
        pytest.param(DECODE, [("http", 30000)], id="decode"),
        pytest.param(ROUTER, [("http", 30000)], id="router"),
    ],
)
def test_named_ports(workload: str, ports: list[tuple[str, int]]) -> None:
    found = container(a_pddeployment(), workload)["ports"]
    assert [(each["name"], each["containerPort"]) for each in found] == ports
    assert {each["protocol"] for each in found} == {"TCP"}


def test_the_overlay_reaches_its_own_role_alone() -> None:
    template = {
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "resources": {"limits": {"nvidia.com/gpu": 4, "memory": "64Gi"}},
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "registry"}],
    }
    obj = changed(a_pddeployment(), "spec.prefill.template", template)
    spec = pod(obj, PREFILL)
    assert spec["nodeSelector"] == {"pool": "gpu"}
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert spec["priorityClassName"] == "high"
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "4", "memory": "64Gi"}}
    assert pod(obj, DECODE) == pod(a_pddeployment(), DECODE)


def test_the_router_can_pull_what_the_workers_pull() -> None:
    obj = changed(a_pddeployment(), "spec.prefill.template", {"imagePullSecrets": [{"name": "b"}, {"name": "a"}]})
    obj = changed(obj, "spec.decode.template", {"imagePullSecrets": [{"name": "a"}]})
    assert pod(obj, ROUTER)["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]


@EVERY_WORKLOAD
def test_no_resources_are_made_up(workload: str) -> None:
    assert "resources" not in container(a_pddeployment(), workload)
