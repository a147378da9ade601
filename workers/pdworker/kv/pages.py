"""Which pages of a pool are free, and the runs in which they lie. Pure: the clock is an argument."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """Pages that lie next to each other at both ends, so that one write moves them."""

    source: int
    target: int
    count: int


def runs(sources: Sequence[int], targets: Sequence[int]) -> tuple[Run, ...]:
    """Coalesce page pairs, in order, into contiguous runs: the cost of a write is per write, not per byte."""
    found: list[Run] = []
    for source, target in zip(sources, targets, strict=True):
        if found and found[-1].source + found[-1].count == source and found[-1].target + found[-1].count == target:
            found[-1] = Run(found[-1].source, found[-1].target, found[-1].count + 1)
        else:
            found.append(Run(source, target, 1))
    return tuple(found)


class FreePages:
    """The free pages of one pool.

    Pages of a failed transfer are quarantined: bytes may still land in them, or be read from them, until the engine
    has surely given up, so nobody gets them before.
    """

    def __init__(self, count: int) -> None:
        self.total = count
        self._free = set(range(count))
        self._quarantine: dict[int, float] = {}  # page -> when it is free again

    def take(self, count: int, *, now: float) -> tuple[int, ...] | None:
        """The lowest free pages, so that runs stay long; None when there aren't enough now."""
        self._release_quarantined(now)
        if count > len(self._free):
            return None
        taken = tuple(sorted(self._free)[:count])
        self._free.difference_update(taken)
        return taken

    def give_back(self, pages: Iterable[int]) -> None:
        """Pages whose transfer ended well."""
        self._free.update(pages)

    def quarantine(self, pages: Iterable[int], *, until: float) -> None:
        """Pages whose transfer failed."""
        self._quarantine.update(dict.fromkeys(pages, until))

    def _release_quarantined(self, now: float) -> None:
        over = [page for page, until in self._quarantine.items() if until <= now]
        for page in over:
            del self._quarantine[page]
        self._free.update(over)
