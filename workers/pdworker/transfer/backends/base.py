"""What the core needs of a transfer engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Write:
    """One contiguous piece of local memory to a peer's."""

    session: str
    source: int
    target: int
    length: int


class EngineError(RuntimeError):
    """The engine could not start, register or write; the message says which."""


class Engine(Protocol):
    """A transfer engine of this process. `write` blocks and runs in the sender's own thread."""

    @property
    def session(self) -> str:
        """The name by which peers write to this engine."""

    def register(self, address: int, length: int) -> None:
        """Make memory known to the engine. Raises EngineError."""

    def write(self, writes: Sequence[Write]) -> float:
        """Do all writes; the seconds from first submit to last completion. Raises EngineError when one fails."""
