"""A keyed work queue: a key waits once, is worked on by one worker at a time, and isn't forgotten while dirty.

An event that arrives while its key is being worked on marks it dirty; it goes round again afterwards. A failed key
comes back after its own backoff, which never delays another key, and which a new event cuts short.
"""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, capped, with jitter so that keys which failed together don't return together."""

    base_seconds: float = 0.2  # a conflict is over by then
    cap_seconds: float = 60.0  # what an API server that is down for long costs: one try per key and minute
    jitter: float = 0.2  # a fifth either way

    def delay(self, *, failures: int, random: float) -> float:
        """Seconds before the next try after so many failures in a row; `random` is in [0, 1)."""
        # 2**32 is beyond any cap; a larger exponent would only overflow the float.
        plain = min(self.cap_seconds, self.base_seconds * (1 << min(max(failures - 1, 0), 32)))
        return plain * (1 - self.jitter + 2 * self.jitter * random)


@dataclass(slots=True)
class Queue(Generic[K]):
    """The queue. Used from one event loop only."""

    now: Callable[[], float]  # monotonic seconds
    random: Callable[[], float]  # in [0, 1)
    backoff: Backoff = field(default_factory=Backoff)
    _ready: dict[K, float] = field(default_factory=dict)  # key -> since when it waits; in order
    _working: dict[K, float] = field(default_factory=dict)  # key -> since when it is worked on
    _dirty: set[K] = field(default_factory=set)
    _failures: dict[K, int] = field(default_factory=dict)
    _due: dict[K, float] = field(default_factory=dict)
    _heap: list[tuple[float, int, K]] = field(default_factory=list)  # entries that _due no longer names are stale
    _order: Iterator[int] = field(default_factory=itertools.count)  # a tie-break: keys needn't be ordered
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key: K) -> None:
        """The key needs work now."""
        if key in self._working:
            self._dirty.add(key)
        elif key not in self._ready:
            self._ready[key] = self.now()
            self._changed.set()

    def add_after(self, key: K, seconds: float) -> None:
        """The key needs work after a while, or earlier if something else asks for it."""
        due = self.now() + seconds
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            heapq.heappush(self._heap, (due, next(self._order), key))
            self._changed.set()

    def retry(self, key: K) -> float:
        """The key failed: it comes back after its backoff, whose seconds are returned."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = self.backoff.delay(failures=self._failures[key], random=self.random())
        self.add_after(key, delay)
        return delay

    def succeeded(self, key: K) -> None:
        """The next failure of this key is its first."""
        self._failures.pop(key, None)

    @contextlib.asynccontextmanager
    async def claim(self) -> AsyncIterator[K]:
        """The next key, this worker's alone until the context ends."""
        key = await self._next()
        self._working[key] = self.now()
        try:
            yield key
        finally:
            del self._working[key]
            if key in self._dirty:
                self._dirty.discard(key)
                self.add(key)

    async def _next(self) -> K:
        while True:
            self._changed.clear()
            self._promote()
            if self._ready:
                key = next(iter(self._ready))
                del self._ready[key]
                self._due.pop(key, None)  # this round is what the delayed one was for
                return key
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._until_due()):
                    await self._changed.wait()

    def _promote(self) -> None:
        now = self.now()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)

    def _until_due(self) -> float | None:
        return max(0.0, self._heap[0][0] - self.now()) if self._heap else None

    @property
    def depth(self) -> int:
        """How many keys wait for a worker now."""
        return len(self._ready)

    @property
    def oldest_waiting_seconds(self) -> float:
        """For how long the first key has waited; 0 when none waits."""
        return max((self.now() - since for since in self._ready.values()), default=0.0)

    @property
    def oldest_working_seconds(self) -> float:
        """For how long the slowest worker has been at its key; 0 when all are idle."""
        return max((self.now() - since for since in self._working.values()), default=0.0)
