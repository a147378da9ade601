"""Pod templates: one container, no privilege, probes that mean what they say."""

from dataclasses import dataclass
from typing import Any

from pdoperator.api.enums import Transport
from pdoperator.api.labels import BOOTSTRAP_ANNOTATION, MODEL_ANNOTATION
from pdoperator.api.template import PodTemplate
from pdoperator.api.types import Spec
from pdoperator.plan import ports
from pdoperator.plan.environment import router_environment, worker_environment
from pdoperator.plan.names import Manifest, Owner, labels
from pdoperator.topology.resolve import Topology
from pdoperator.topology.role import Role

USER_ID = 65532  # the images' own user, given here too so that the kubelet can tell it isn't root
SHM_SIZE = "1Gi"  # 64 MiB, the runtime's default, breaks engines with several ranks
TMP_SIZE = "256Mi"  # bounded, so that a worker can't fill the node's disk
WORKER_START_SECONDS = 1800  # big models load for tens of minutes
ROUTER_START_SECONDS = 300


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What the operator is told about its surroundings."""

    worker_image: str
    image_pull_policy: str = "IfNotPresent"
    operator_namespace: str = "pd-system"  # from where the workers' metrics are read
    monitoring_namespaces: tuple[str, ...] = ("monitoring",)


def worker_template(*, owner: Owner, role: Role, spec: Spec, topology: Topology, settings: PlanSettings) -> Manifest:
    """The pod template of a worker role. Replica counts are not in it: a change of them disturbs no pod."""
    overlay = (spec.prefill if role is Role.PREFILL else spec.decode).template
    container = _container(name="worker", command="serve", spec=spec, settings=settings, ports=_ports(role))
    container |= {
        "env": worker_environment(owner=owner, role=role, spec=spec, topology=topology),
        **_probes(start_seconds=WORKER_START_SECONDS),
        **_resources(overlay),
    }
    if spec.transfer.transport is not Transport.TCP:
        # RDMA registers memory, which locks it.
        container["securityContext"]["capabilities"]["add"] = ["IPC_LOCK"]
    container["volumeMounts"].append({"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108 -- the pod's, not ours
    template = _pod(owner=owner, role=role, container=container, annotations=_annotations(role, spec))
    shm_size = SHM_SIZE if overlay.shm_size is None else str(overlay.shm_size)
    template["spec"]["volumes"].append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": shm_size}})
    template["spec"] |= _placement(overlay)
    return template


def router_template(*, owner: Owner, spec: Spec, settings: PlanSettings) -> Manifest:
    """The pod template of the router."""
    container = _container(name="router", command="router", spec=spec, settings=settings, ports=_ports(Role.ROUTER))
    container |= {"env": router_environment(owner), **_probes(start_seconds=ROUTER_START_SECONDS)}
    template = _pod(owner=owner, role=Role.ROUTER, container=container, annotations={})
    names = {each.name for role in (spec.prefill, spec.decode) for each in role.template.image_pull_secrets}
    if names:  # it runs the workers' image
        template["spec"]["imagePullSecrets"] = [{"name": name} for name in sorted(names)]
    return template


def _pod(*, owner: Owner, role: Role, container: Manifest, annotations: dict[str, str]) -> Manifest:
    metadata: Manifest = {"labels": labels(owner, role)}
    if annotations:
        metadata["annotations"] = annotations
    return {
        "metadata": metadata,
        "spec": {
            "serviceAccountName": owner.name,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,  # or every Service of the namespace would be in the environment
            "terminationGracePeriodSeconds": 30,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER_ID,
                "runAsGroup": USER_ID,
                "fsGroup": USER_ID,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": TMP_SIZE}}],
        },
    }


def _container(*, name: str, command: str, spec: Spec, settings: PlanSettings, ports: list[dict[str, Any]]) -> Manifest:
    return {
        "name": name,
        "image": spec.engine.image or settings.worker_image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": ["pd-worker", command],
        "ports": ports,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 -- the pod's, not ours
    }


def _annotations(role: Role, spec: Spec) -> dict[str, str]:
    annotations = {MODEL_ANNOTATION: spec.model.name}
    if role is Role.PREFILL:  # routers of SGLang's kind find the bootstrap server by it
        annotations[BOOTSTRAP_ANNOTATION] = str(ports.BOOTSTRAP)
    return annotations


def _ports(role: Role) -> list[dict[str, Any]]:
    found = [{"name": "http", "containerPort": ports.HTTP, "protocol": "TCP"}]
    if role is Role.PREFILL:
        found.append({"name": "bootstrap", "containerPort": ports.BOOTSTRAP, "protocol": "TCP"})
    return found


def _probes(*, start_seconds: int) -> Manifest:
    """No initial delays: until the start-up probe passes the other two don't run."""
    return {
        "startupProbe": _probe("/ready", period=2, failures=start_seconds // 2, timeout=2),
        # A pod that hangs is out of service after 3 x (3 + 2) seconds.
        "readinessProbe": _probe("/ready", period=3, failures=3, timeout=2),
        # Slow to act: a pause must not become a restart.
        "livenessProbe": _probe("/livez", period=10, failures=3, timeout=5),
    }


def _probe(path: str, *, period: int, failures: int, timeout: int) -> Manifest:
    return {
        "httpGet": {"path": path, "port": "http", "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": failures,
    }


def _resources(overlay: PodTemplate) -> Manifest:
    if overlay.resources is None:
        return {}
    given = overlay.resources.model_dump(mode="json", by_alias=True, exclude_none=True)
    amounts = {kind: {key: str(value) for key, value in listed.items()} for kind, listed in given.items() if listed}
    return {"resources": amounts} if amounts else {}


def _placement(overlay: PodTemplate) -> Manifest:
    given = overlay.model_dump(
        mode="json",
        by_alias=True,
        exclude_none=True,
        include={"node_selector", "tolerations", "priority_class_name", "image_pull_secrets"},
    )
    return {key: value for key, value in given.items() if value}
