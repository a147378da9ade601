"""The replica factor: learnt at the bootstrap barrier, once for each decode width, never a reason to crash a sender."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol


class Destination(Protocol):
    """What the barrier needs of a TransferInfo."""

    @property
    def required_dst_info_num(self) -> int | None:
        """How many destinations the sender of this room must hear of."""


class ReplicaFactor:
    """One value for each rank process, as engines keep it. `value` is there in every mode, decode included.

    For MLA it is None until a barrier resolves it; for anything else it is 1, whatever the number of destinations,
    because there each destination gets a part of its own.
    """

    def __init__(self, *, mla: bool, warn: Callable[[str], None]) -> None:
        self.value: int | None = None if mla else 1
        self._mla = mla
        self._warn = warn
        self._warned: set[str] = set()

    def resolve(self, destinations: Mapping[int, Destination] | Iterable[Destination]) -> None:
        """Take the factor from any destination of a room whose barrier is complete.

        Without destinations, or with a count of None, it warns once and stays what it was.
        """
        if not self._mla:
            return
        infos = destinations.values() if isinstance(destinations, Mapping) else destinations
        count = next((info.required_dst_info_num for info in infos), None)
        if count is None:
            self._warn_once("the room names no destination count: the replica factor stays unresolved")
            return
        self.value = count

    def get(self) -> int:
        """The factor, or 1 with one warning while it is unresolved: metrics must never crash a sender."""
        if self.value is None:
            self._warn_once("the replica factor is not resolved yet: transfer metrics count one copy")
            return 1
        return self.value

    def _warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self._warn(message)


def is_complete(destinations: Mapping[int, Destination]) -> bool:
    """Whether the barrier of a room may open: as many destinations have spoken as each of them says there are."""
    return any(info.required_dst_info_num == len(destinations) for info in destinations.values())
