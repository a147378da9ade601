"""The environment of the pods, in the order of the contract; the user's own comes after it."""

from collections.abc import Sequence
from typing import Any

from pdoperator.api.types import ParallelismSpec, Spec
from pdoperator.plan import ports
from pdoperator.plan.names import Owner
from pdoperator.topology.resolve import Topology
from pdoperator.topology.role import Role
from pdoperator.topology.traffic import MlaGeometry

EnvVars = list[dict[str, Any]]

# Progress must time out before the transfer does, or a transfer that failed may still write.
_TUNING = (
    ("MC_MIN_RPC_PORT", str(ports.ENGINE_FIRST)),
    ("MC_MAX_RPC_PORT", str(ports.ENGINE_LAST)),
    ("MC_TCP_PROGRESS_TIMEOUT_SEC", "3"),
    ("MC_TRANSFER_TIMEOUT", "10"),
    ("MC_HANDSHAKE_CONNECT_TIMEOUT", "2"),
    ("MC_TCP_MAX_QUEUED_TRANSFERS_PER_PEER", "65535"),
    ("MC_LOG_LEVEL", "WARNING"),
)


def router_environment(owner: Owner) -> EnvVars:
    """The environment of the router."""
    return [
        *_everywhere(owner, Role.ROUTER),
        *_texts(
            ("PD_PREFILL_SERVICE", service_host(owner, Role.PREFILL)),
            ("PD_DECODE_SERVICE", service_host(owner, Role.DECODE)),
        ),
    ]


def worker_environment(*, owner: Owner, role: Role, spec: Spec, topology: Topology) -> EnvVars:
    """The environment of a worker. Tuning that the user sets too is only there in the user's place and value."""
    users = [{"name": each.name, "value": each.value} for each in spec.engine.env]
    taken = {each["name"] for each in users}
    return [
        *_everywhere(owner, role),
        *_texts(*_model(spec, topology), *_sizes(role, spec), *_link(spec, topology)),
        *_texts(*((name, value) for name, value in _TUNING if name not in taken)),
        *users,
    ]


def service_host(owner: Owner, role: Role) -> str:
    """The DNS name of a role's headless Service, without the cluster's domain, which isn't ours to know."""
    return f"{owner.child(role)}.{owner.namespace}.svc"


def _everywhere(owner: Owner, role: Role) -> EnvVars:
    return [
        _from_field("POD_NAME", "metadata.name"),
        _from_field("POD_NAMESPACE", "metadata.namespace"),
        # The one address that peers can reach; what a pod sees on its interfaces may be anything.
        _from_field("POD_IP", "status.podIP"),
        *_texts(
            ("PD_ROLE", str(role)),
            ("PD_DEPLOYMENT", owner.name),
            ("PD_HTTP_PORT", str(ports.HTTP)),
            ("PD_BOOTSTRAP_PORT", str(ports.BOOTSTRAP)),
        ),
    ]


def _model(spec: Spec, topology: Topology) -> Sequence[tuple[str, str]]:
    found = [
        ("PD_MODEL_NAME", _literal(spec.model.name)),
        ("PD_ATTENTION", str(spec.model.attention)),
        ("PD_LAYERS", str(topology.geometry.layers)),
    ]
    if isinstance(topology.geometry, MlaGeometry):
        found += [
            ("PD_KV_LORA_RANK", str(topology.geometry.kv_lora_rank)),
            ("PD_QK_ROPE_HEAD_DIM", str(topology.geometry.qk_rope_head_dim)),
        ]
    return [
        *found,
        ("PD_KV_CACHE_DTYPE", str(spec.model.kv_cache_dtype)),
        ("PD_PAGE_SIZE", str(spec.model.page_size)),
    ]


def _sizes(role: Role, spec: Spec) -> Sequence[tuple[str, str]]:
    sizes: ParallelismSpec = (spec.prefill if role is Role.PREFILL else spec.decode).parallelism
    return [("PD_TENSOR", str(sizes.tensor)), ("PD_CONTEXT", str(sizes.context))]


def _link(spec: Spec, topology: Topology) -> Sequence[tuple[str, str]]:
    found = [("PD_BACKEND", str(spec.transfer.backend)), ("PD_TRANSPORT", str(spec.transfer.transport))]
    if topology.expected_factor is not None:  # absent, not empty, where it isn't known
        found.append(("PD_EXPECTED_REPLICA_FACTOR", str(topology.expected_factor)))
    return found


def _texts(*pairs: tuple[str, str]) -> EnvVars:
    return [{"name": name, "value": value} for name, value in pairs]


def _from_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _literal(text: str) -> str:
    """Text that the kubelet leaves as it is: it would expand $(NAME)."""
    return text.replace("$", "$$")
