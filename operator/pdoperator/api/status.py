"""The status of a PDDeployment: written by the operator alone, declared here so that the API server keeps it whole."""

from typing import Annotated

from pydantic import Field

from pdoperator.api.base import ApiModel, list_map

Text = Annotated[str, Field(max_length=1024)]


class RoleTopologyStatus(ApiModel):
    """How one replica of a role is laid out."""

    attention_tensor_parallel: int | None = None
    """Ranks that share one attention computation: tensor / context / data."""
    attention_context_parallel: int | None = None
    """Groups that share one request's tokens."""
    pods_per_replica: int | None = None
    """Pods of one replica."""
    gpus_per_replica: int | None = None
    """GPUs of one replica: tensor x pipeline."""


class TopologyStatus(ApiModel):
    """What follows from the spec."""

    prefill: RoleTopologyStatus | None = None
    """The prefill side."""
    decode: RoleTopologyStatus | None = None
    """The decode side."""
    expected_replica_factor: int | None = None
    """Copies of the KV that one sender writes; absent where it isn't known."""
    derivation: Text | None = None
    """How the factor comes about, in words."""
    kv_bytes_per_token: Annotated[int, Field(json_schema_extra={"format": "int64"})] | None = None
    """Bytes of KV per token, one copy, all layers."""


class RoleStatus(ApiModel):
    """The pods of a role."""

    replicas: int | None = None
    """Replicas asked for."""
    ready_replicas: int | None = None
    """Replicas that are ready."""
    selector: Text | None = None
    """Label selector of the pods."""
    summary: Text | None = None
    """Ready and asked for, as in 1/2."""


class ObservedStatus(ApiModel):
    """What was measured, rounded; absent where nothing was."""

    replica_factor: Text | None = None
    """Reported bytes over logical bytes."""
    bandwidth: Text | None = None
    """Bytes received per second of transfer, to two significant digits."""


class Condition(ApiModel):
    """One finding, as in every Kubernetes API."""

    type: Annotated[str, Field(pattern="^[A-Za-z]+$", max_length=64)]
    """What it is about."""
    status: Annotated[str, Field(pattern="^(True|False|Unknown)$", max_length=7)]
    """Whether it holds. Unknown is not False."""
    observed_generation: Annotated[int, Field(json_schema_extra={"format": "int64"})] | None = None
    """The generation of the spec that was judged."""
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    """When the status changed last."""
    reason: Annotated[str, Field(pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", min_length=1, max_length=128)]
    """Why, as a word of a closed set: see the page of conditions."""
    message: Annotated[str, Field(max_length=32768)]
    """Why, in words."""


class PDDeploymentStatus(ApiModel):
    """What the operator found."""

    observed_generation: Annotated[int, Field(json_schema_extra={"format": "int64"})] | None = None
    """The generation of the spec that this status is about."""
    topology: TopologyStatus | None = None
    """What follows from the spec."""
    prefill: RoleStatus | None = None
    """The prefill pods."""
    decode: RoleStatus | None = None
    """The decode pods."""
    observed: ObservedStatus | None = None
    """What was measured."""
    factor: Text | None = None
    """For printing: the factor, or observed/expected where they differ."""
    bandwidth: Text | None = None
    """For printing: the measured bandwidth."""
    slo: Text | None = None
    """For printing: whether the objective holds."""
    conditions: Annotated[tuple[Condition, ...], Field(max_length=32, json_schema_extra=list_map("type"))] = ()
    """The findings."""
