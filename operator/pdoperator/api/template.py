"""The part of a pod that the user may shape: a small typed subset, so that the CRD is small and bad values are refused.

Whatever the operator depends on (labels, probes, ports, security) is not in it.
"""

from typing import Annotated

from pydantic import Field

from pdoperator.api.base import ApiModel, LabelValue, Quantity, Subdomain, list_map
from pdoperator.api.enums import TaintEffect, TolerationOperator

LabelKey = Annotated[str, Field(min_length=1, max_length=317)]  # prefix of 253, slash, name of 63
Resources = Annotated[dict[str, Quantity], Field(max_length=16)]


class Toleration(ApiModel):
    """A taint that the pods put up with."""

    key: LabelKey | None = None
    """The taint's key; none with `Exists` means every taint."""
    operator: TolerationOperator = TolerationOperator.EQUAL
    """Whether the value counts."""
    value: LabelValue | None = None
    """The taint's value, with `Equal`."""
    effect: TaintEffect | None = None
    """The taint's effect; none means every effect."""
    toleration_seconds: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    """How long a `NoExecute` taint is put up with; none means for ever."""


class ResourceRequirements(ApiModel):
    """Compute resources of the one container of each pod."""

    requests: Resources | None = None
    """What the scheduler sets aside."""
    limits: Resources | None = None
    """What the container may use at most. Extended resources (GPUs, RDMA devices) are whole numbers."""


class SecretReference(ApiModel):
    """A Secret in the same namespace."""

    name: Subdomain
    """The Secret's name."""


class PodTemplate(ApiModel):
    """What to change in the pods of a role."""

    node_selector: Annotated[dict[str, LabelValue], Field(max_length=32)] | None = None
    """Labels that a node must have."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=32)] = ()
    """Taints that the pods put up with."""
    resources: ResourceRequirements | None = None
    """Compute resources; none are set unless given here."""
    shm_size: Quantity | None = None
    """Size limit of `/dev/shm`, memory-backed; 1Gi unless given. It counts against the memory limit."""
    priority_class_name: Subdomain | None = None
    """The pods' PriorityClass."""
    image_pull_secrets: Annotated[
        tuple[SecretReference, ...], Field(max_length=16, json_schema_extra=list_map("name"))
    ] = ()
    """Secrets for pulling the image."""
