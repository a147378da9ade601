"""What a sender's transfer counts as: the semantics of the engines' metric, and the bytes beside it."""

from dataclasses import dataclass

from pdworker.transfer.factor import ReplicaFactor

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Items:
    """Bytes of one item of each kind: KV pages, and state items (an indexer's cache, where a model has one)."""

    kv_item_bytes: int
    state_item_bytes: int = 0

    def one_copy_bytes(self, *, kv_items: int, state_items: int = 0) -> int:
        """Logical bytes: one copy of what is sent."""
        return kv_items * self.kv_item_bytes + state_items * self.state_item_bytes


@dataclass(frozen=True, slots=True)
class TransferMetric:
    """One finished transfer of one sender, in the three figures that are never mixed up."""

    logical_bytes: int
    reported_bytes: int
    seconds: float

    @property
    def total_mib(self) -> float:
        """What `kv_transfer_total_mb` shows: MiB, whatever its name says."""
        return self.reported_bytes / MIB

    @property
    def speed_gib_s(self) -> float:
        """What `kv_transfer_speed_gb_s` shows: GiB/s."""
        return self.total_mib / 1024 / self.seconds


class Accounting:
    """Turns what was sent into what is reported."""

    def __init__(self, items: Items, factor: ReplicaFactor, *, legacy: bool = False) -> None:
        self._items = items
        self.factor = factor
        self.legacy = legacy

    def reported_bytes(self, *, kv_items: int, state_items: int = 0) -> int:
        """One copy times the replica factor. With legacy accounting one copy, as engines counted before the fix."""
        copies = 1 if self.legacy else self.factor.get()
        return self._items.one_copy_bytes(kv_items=kv_items, state_items=state_items) * copies

    def finished(self, *, kv_items: int, seconds: float) -> TransferMetric:
        """The metric of one transfer that took `seconds` from first submit to last completion."""
        return TransferMetric(
            logical_bytes=self._items.one_copy_bytes(kv_items=kv_items),
            reported_bytes=self.reported_bytes(kv_items=kv_items),
            seconds=seconds,
        )
