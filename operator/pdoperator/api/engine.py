"""What runs in the pods, and how KV travels between them."""

from typing import Annotated

from pydantic import Field

from pdoperator.api.base import ApiModel, Quantity, list_map
from pdoperator.api.enums import Backend, EngineName, ResourceSource, Transport

ShortText = Annotated[str, Field(min_length=1, max_length=128)]
DeviceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)]
DeviceNames = Annotated[tuple[DeviceName, ...], Field(max_length=32)]


class EnvVar(ApiModel):
    """One environment variable. `$(NAME)` in the value refers to a variable before it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", min_length=1, max_length=128)]
    """`PD_*` and `POD_*` are set by the operator and refused here."""
    value: Annotated[str, Field(max_length=4096)] = ""
    """The value, as text."""


class Engine(ApiModel):
    """What runs in the worker pods."""

    name: EngineName = EngineName.BUILTIN
    """The engine."""
    version: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """The engine's version, where its metric semantics depend on it."""
    image: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$", max_length=512)] | None = None
    """The image of workers and router; the operator's default unless given."""
    args: Annotated[tuple[Annotated[str, Field(max_length=1024)], ...], Field(max_length=64)] | None = None
    """More arguments for the engine."""
    env: Annotated[tuple[EnvVar, ...], Field(max_length=64, json_schema_extra=list_map("name"))] = ()
    """More environment for the workers, after the operator's own and in this order. `MC_*` and `UCX_*` win over it."""
    features: Annotated[tuple[ShortText, ...], Field(max_length=32)] | None = None
    """Engine features that change who sends what."""


class GpuDevices(ApiModel):
    """The network devices of one GPU."""

    gpu: Annotated[int, Field(ge=0, le=63)]
    """The GPU's index in the pod."""
    names: DeviceNames
    """Names of RDMA devices, as in `mlx5_0`."""


class Devices(ApiModel):
    """Which RDMA devices to use; none means those that are found."""

    names: DeviceNames | None = None
    """The same devices for every rank."""
    per_gpu: Annotated[tuple[GpuDevices, ...], Field(max_length=64, json_schema_extra=list_map("gpu"))] | None = None
    """Devices by GPU."""


class DeviceResources(ApiModel):
    """How pods get their network devices."""

    source: ResourceSource
    """The mechanism."""
    name: Annotated[str, Field(min_length=1, max_length=253)]
    """The extended resource, network, claim or path."""
    count: Quantity | None = None
    """How many per pod."""


class Transfer(ApiModel):
    """The link between prefill and decode: one for both, never per role."""

    backend: Backend = Backend.MOONCAKE
    """The library that moves KV pages."""
    transport: Transport = Transport.RDMA
    """What the pages travel over."""
    devices: Devices | None = None
    """Which RDMA devices to use; none means those that are found."""
    resources: DeviceResources | None = None
    """How pods get their network devices."""
