"""The live state of one PDDeployment and its children, gathered once per reconcile, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pdoperator.topology.role import Role

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """What the work queue holds: one PDDeployment."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A child pod, as far as anybody decides on it."""

    name: str
    uid: str
    role: Role
    ip: str | None  # None until the network gave one
    node: str | None
    ready: bool
    terminating: bool
    phase: str
    restarts: int  # of all containers, summed
    owned: bool  # its controller is one of our workloads; else it only carries our labels and is left alone
    waiting_reason: str = ""  # e.g. ImagePullBackOff, of the first container that waits for a bad reason
    waiting_message: str = ""
    waiting_image: str = ""
    unschedulable_message: str = ""  # from the PodScheduled condition
    started: bool = False  # the start-up probe has passed
    last_exit: str = ""  # how a container of it ended last, e.g. "exit code 137 (OOMKilled)"


@dataclass(frozen=True, slots=True)
class Workload:
    """A StatefulSet or Deployment of one role."""

    kind: str
    name: str
    role: Role
    generation: int
    observed_generation: int
    replicas: int  # desired
    updated_replicas: int
    ready_replicas: int
    current_revision: str = ""
    update_revision: str = ""


@dataclass(frozen=True, slots=True)
class Live:
    """Everything read from the API server for one reconcile."""

    key: Key
    uid: str
    generation: int
    resource_version: str
    parent: Manifest  # the whole object
    status: Manifest  # its status as stored, {} when there is none
    children: tuple[Manifest, ...]  # every object that carries our deployment label, pods apart
    pods: tuple[Pod, ...]
    workloads: tuple[Workload, ...] = field(default=())
