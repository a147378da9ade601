"""From what was declared to what follows from it."""

from dataclasses import dataclass
from typing import Any

from pdoperator.api.enums import Attention, KvCacheDtype
from pdoperator.topology.factor import Factor, Unknown, replica_factor, senders
from pdoperator.topology.parallelism import Parallelism, can_pair
from pdoperator.topology.role import Role
from pdoperator.topology.traffic import Geometry, kv_bytes_per_token


@dataclass(frozen=True, slots=True)
class RoleTopology:
    """One replica of a role."""

    attention_tensor_parallel: int
    attention_context_parallel: int
    pods_per_replica: int
    gpus_per_replica: int


@dataclass(frozen=True, slots=True)
class Topology:
    """Everything that follows from the sizes and the geometry."""

    prefill: RoleTopology
    decode: RoleTopology
    factor: Factor | Unknown
    senders: tuple[int, ...]  # prefill ranks of one replica that send
    kv_bytes_per_token: int
    page_bytes: int  # one page over all layers, one copy
    geometry: Geometry

    @property
    def expected_factor(self) -> int | None:
        """The factor; None where it isn't known."""
        return self.factor.value if isinstance(self.factor, Factor) else None


@dataclass(frozen=True, slots=True)
class Refused:
    """The sizes can't run, and which field says so."""

    field: str
    message: str


def resolve(
    *,
    prefill: Parallelism,
    decode: Parallelism,
    attention: Attention,
    geometry: Geometry,
    page_size: int,
    dtype: KvCacheDtype,
) -> Topology | Refused:
    """The topology of a declaration, or why it can't run."""
    for role, side in ((Role.PREFILL, prefill), (Role.DECODE, decode)):
        if not side.exact:
            return Refused(f"spec.{role}.parallelism", _inexact(side))
    if not can_pair(prefill, decode):
        return Refused("spec", _unpaired(prefill, decode))
    token_bytes = kv_bytes_per_token(geometry, dtype)
    return Topology(
        prefill=_role(prefill),
        decode=_role(decode),
        factor=replica_factor(prefill=prefill, decode=decode, attention=attention),
        senders=senders(prefill=prefill, decode=decode, attention=attention),
        kv_bytes_per_token=token_bytes,
        page_bytes=token_bytes * page_size,
        geometry=geometry,
    )


def status_of(topology: Topology) -> dict[str, Any]:
    """The topology as `status.topology`. An unknown factor is absent, and the derivation says why."""
    status: dict[str, Any] = {
        "prefill": _role_status(topology.prefill),
        "decode": _role_status(topology.decode),
        "derivation": topology.factor.because,
        "kvBytesPerToken": topology.kv_bytes_per_token,
    }
    if topology.expected_factor is not None:
        status["expectedReplicaFactor"] = topology.expected_factor
    return status


def _role(side: Parallelism) -> RoleTopology:
    return RoleTopology(
        attention_tensor_parallel=side.attention_tensor,
        attention_context_parallel=side.context,
        pods_per_replica=1,
        gpus_per_replica=side.ranks,
    )


def _role_status(role: RoleTopology) -> dict[str, int]:
    return {
        "attentionTensorParallel": role.attention_tensor_parallel,
        "attentionContextParallel": role.attention_context_parallel,
        "podsPerReplica": role.pods_per_replica,
        "gpusPerReplica": role.gpus_per_replica,
    }


def _inexact(side: Parallelism) -> str:
    if side.data == 1 or side.tensor % side.context != 0:
        return f"tensor {side.tensor} is not a multiple of context {side.context}"
    return f"tensor {side.tensor} is not a multiple of context {side.context} x data {side.data}"


def _unpaired(prefill: Parallelism, decode: Parallelism) -> str:
    return (
        f"prefill attention TP {prefill.attention_tensor} and decode attention TP {decode.attention_tensor}"
        " can't be paired: neither is a multiple of the other (attention TP is tensor / context)"
    )
