"""Which ranks of prefill have registered, and what a decode rank is told. Pure: the clock is an argument."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# A rank speaks up every two seconds; three missed turns and it is gone.
HEARTBEAT_SECONDS = 2.0
FORGET_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a prefill instance must be made of before anybody may use it."""

    attn_tp_size: int
    attn_cp_size: int = 1
    attn_dp_size: int = 1
    pp_size: int = 1

    @property
    def ranks(self) -> int:
        """How many ranks register: context ranks count like any other."""
        return self.attn_dp_size * self.attn_cp_size * self.attn_tp_size * self.pp_size


@dataclass(frozen=True, slots=True)
class Place:
    """Which rank of the instance."""

    dp: int
    cp: int
    tp: int
    pp: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What both roles must agree on, or pages would be read wrongly."""

    page_size: int
    kv_cache_dtype: str


class Registry:
    """The rows of one prefill instance."""

    def __init__(self, shape: Shape, settings: Settings) -> None:
        self.shape = shape
        self.settings = settings
        self._rows: dict[Place, tuple[str, int, float]] = {}

    def register(self, place: Place, *, ip: str, port: int, now: float) -> None:
        """A rank is there, or still there. Raises ValueError for a rank this instance doesn't have."""
        sizes = (self.shape.attn_dp_size, self.shape.attn_cp_size, self.shape.attn_tp_size, self.shape.pp_size)
        if not all(0 <= at < size for at, size in zip((place.dp, place.cp, place.tp, place.pp), sizes, strict=True)):
            raise ValueError(f"{place} is outside {self.shape}")
        self._rows[place] = (ip, port, now)

    def present(self, *, now: float) -> int:
        """Ranks that were heard of lately."""
        return sum(now - seen < FORGET_SECONDS for _, _, seen in self._rows.values())

    def is_complete(self, *, now: float) -> bool:
        """Whether every rank is present."""
        return self.present(now=now) == self.shape.ranks

    def address(self, place: Place, *, now: float) -> tuple[str, int] | None:
        """Where a rank listens; None when it isn't present."""
        ip, port, seen = self._rows.get(place, ("", 0, now - FORGET_SECONDS))
        return (ip, port) if now - seen < FORGET_SECONDS else None

    def topology(self) -> Mapping[str, Any]:
        """The answer to whoever asks for no rank in particular, in the field names of SGLang's server."""
        return {
            "attn_tp_size": self.shape.attn_tp_size,
            "attn_cp_size": self.shape.attn_cp_size,
            "dp_size": self.shape.attn_dp_size,
            "pp_size": self.shape.pp_size,
            "page_size": self.settings.page_size,
            "kv_cache_dtype": self.settings.kv_cache_dtype,
            "follow_bootstrap_room": True,
        }
