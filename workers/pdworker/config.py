"""What a worker is told, all of it by its environment (docs/reference/worker-contract.md), read once at the start."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pdworker.topology import Group


class ConfigError(ValueError):
    """A variable is missing or wrong; the message names it and its value."""


class Role(StrEnum):
    """What this pod does."""

    PREFILL = "prefill"
    DECODE = "decode"


class Transport(StrEnum):
    """The link asked for, or found in use."""

    TCP = "TCP"
    RDMA = "RDMA"
    AUTO = "Auto"


# Bytes of one element. fp8 is stored as plain bytes: torch 1.13 has no such type, and the engine moves bytes.
ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "fp8_e4m3": 1}


@dataclass(frozen=True, slots=True)
class Geometry:
    """The KV cache of an MLA model: one latent vector a token and layer."""

    layers: int
    width: int  # kv_lora_rank + qk_rope_head_dim, in elements
    dtype: str
    page_size: int  # tokens

    @property
    def item_bytes(self) -> int:
        """Bytes of one page in one layer."""
        return self.page_size * self.width * ELEMENT_BYTES[self.dtype]

    @property
    def page_bytes(self) -> int:
        """Bytes of one page in all layers."""
        return self.layers * self.item_bytes

    def pages(self, tokens: int) -> int:
        """Pages that hold so many tokens; the last one is moved whole."""
        return -(-tokens // self.page_size)


@dataclass(frozen=True, slots=True)
class Config:
    """One worker pod."""

    role: Role
    pod: str
    pod_ip: str
    model: str
    geometry: Geometry
    group: Group
    transport: Transport
    expected_factor: int | None
    legacy_accounting: bool
    http_port: int
    bootstrap_port: int
    rank_port_base: int
    pool_tokens: int
    bootstrap_timeout_s: float
    waiting_timeout_s: float
    engine_timeout_s: float

    @property
    def pool_pages(self) -> int:
        """Pages of the pool of each rank."""
        return self.geometry.pages(self.pool_tokens)


def read(env: Mapping[str, str]) -> Config:
    """The configuration in an environment. Raises ConfigError."""
    _only(env, "PD_ATTENTION", "MLA")
    _only(env, "PD_BACKEND", "Mooncake")
    return Config(
        role=Role(_choice(env, "PD_ROLE", tuple(Role))),
        pod=env.get("POD_NAME", ""),
        pod_ip=_advertised(env),
        model=env.get("PD_MODEL_NAME", ""),
        geometry=Geometry(
            layers=_integer(env, "PD_LAYERS"),
            width=_integer(env, "PD_KV_LORA_RANK") + _integer(env, "PD_QK_ROPE_HEAD_DIM", minimum=0),
            dtype=_choice(env, "PD_KV_CACHE_DTYPE", tuple(ELEMENT_BYTES)),
            page_size=_integer(env, "PD_PAGE_SIZE"),
        ),
        group=_group(env),
        transport=Transport(_choice(env, "PD_TRANSPORT", tuple(Transport))),
        expected_factor=_integer(env, "PD_EXPECTED_REPLICA_FACTOR") if "PD_EXPECTED_REPLICA_FACTOR" in env else None,
        legacy_accounting=env.get("PD_LEGACY_ACCOUNTING", "0") == "1",
        http_port=_integer(env, "PD_HTTP_PORT", default=30000),
        bootstrap_port=_integer(env, "PD_BOOTSTRAP_PORT", default=8998),
        rank_port_base=_integer(env, "PD_RANK_PORT_BASE", default=16000),
        # Enough for a few requests of 4,096 tokens; at DeepSeek-V2-Lite's 31,104 B a token, 255 MB a rank when full.
        pool_tokens=_integer(env, "PD_POOL_TOKENS", default=8192),
        # 300 s is the engines' own default for both.
        bootstrap_timeout_s=_integer(env, "PD_BOOTSTRAP_TIMEOUT_SECONDS", default=300),
        waiting_timeout_s=_integer(env, "PD_WAITING_TIMEOUT_SECONDS", default=300),
        # The user may tune MC_*, and pages of a failed transfer must wait as long; 30 s is the engine's own default.
        engine_timeout_s=_integer(env, "MC_TRANSFER_TIMEOUT", default=30),
    )


def _group(env: Mapping[str, str]) -> Group:
    group = Group(tensor=_integer(env, "PD_TENSOR"), context=_integer(env, "PD_CONTEXT", default=1))
    if group.tensor % group.context:
        raise ConfigError(f"PD_TENSOR={group.tensor} is not a multiple of PD_CONTEXT={group.context}")
    return group


def _advertised(env: Mapping[str, str]) -> str:
    """The address peers are told. One that only this pod can reach would fail at the first transfer, far from here."""
    given = env.get("POD_IP", "")
    try:
        address = ipaddress.ip_address(given)
    except ValueError:
        raise ConfigError(f"POD_IP={given!r} is not an IP address: it must come from status.podIP") from None
    local_only = address.is_loopback or address.is_unspecified or address.is_link_local
    if local_only and not (address.is_loopback and env.get("PD_ALLOW_LOOPBACK") == "1"):
        raise ConfigError(f"POD_IP={given} can't be reached by other pods: it must come from status.podIP")
    return given


def _integer(env: Mapping[str, str], name: str, *, default: int | None = None, minimum: int = 1) -> int:
    given = env.get(name)
    if given is None:
        if default is None:
            raise ConfigError(f"{name} is not set")
        return default
    if not given.isascii() or not given.isdigit() or int(given) < minimum:
        raise ConfigError(f"{name}={given!r} is not an integer of at least {minimum}")
    return int(given)


def _choice(env: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    given = env.get(name, "")
    if given not in allowed:
        raise ConfigError(f"{name}={given!r} is not one of {', '.join(allowed)}")
    return given


def _only(env: Mapping[str, str], name: str, supported: str) -> None:
    if (given := env.get(name, supported)) != supported:
        raise ConfigError(f"{name}={given}: this worker serves {supported} only")
