"""The schedule of observations: each PDDeployment's workers are scraped once per its interval, apart from reconciling.

Reconcile says what to watch; an observation that changes a verdict asks for a reconcile. So a worker that hangs delays
nobody's children, and a reconcile in between never scrapes more often than was asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from pdoperator.controller.queue import Queue
from pdoperator.live.state import Key
from pdoperator.observe.scrape import Scraper, Target
from pdoperator.verify.samples import Gap, PodRef, Reading
from pdoperator.verify.verdict import Expectation, Memory, Verdicts, advance, without_unread


@dataclass(frozen=True, slots=True)
class Watch:
    """What is watched for one PDDeployment, as of its last reconcile."""

    expectation: Expectation
    targets: tuple[Target, ...]
    interval_seconds: float

    @property
    def pods(self) -> frozenset[PodRef]:
        """The incarnations of worker pods to read."""
        return frozenset(target.pod for target in self.targets)


@dataclass(slots=True)
class Observer:
    """Keeps one memory per PDDeployment that exists, and nothing for those that are gone."""

    scraper: Scraper
    due: Queue[Key]  # of observations, not of reconciles
    changed: Callable[[Key], None]  # a verdict changed: reconcile
    scraped: Callable[[str], None]  # counts one result: page, or a gap's reason
    _watched: dict[Key, Watch] = field(default_factory=dict)
    _memory: dict[Key, Memory] = field(default_factory=dict)

    def watch(self, key: Key, watch: Watch) -> Verdicts:
        """Watch this from now on; returns what is known so far."""
        before = self._watched.get(key)
        if before is None or watch.pods - before.pods:
            # A worker is up. It is read at once: what it moves before its first read counts for nothing.
            self.due.add(key)
        self._watched[key] = watch
        self._memory[key] = advance(self._memory.get(key), None, watch.expectation)
        return without_unread(self._memory[key].verdicts, self._unread(key))

    def forget(self, key: Key) -> None:
        """The PDDeployment is gone, or isn't to be verified: drop what was learnt."""
        self._watched.pop(key, None)
        self._memory.pop(key, None)

    async def work(self) -> None:
        """Observe what is due, for ever. Several of these run side by side."""
        while True:
            async with self.due.claim() as key:
                await self._observe(key)

    async def _observe(self, key: Key) -> None:
        watch = self._watched.get(key)
        if watch is None:
            return
        self.due.add_after(key, watch.interval_seconds)  # from the start: a slow scrape doesn't stretch the interval
        readings = await self.scraper.scrape(watch.targets)
        for reading in readings:
            self.scraped(_result(reading))
        current = self._watched.get(key)
        if current is None or current.expectation.uid != watch.expectation.uid:
            return  # deleted, or another object of the same name, while the scrape ran
        before, unread = self._memory[key].verdicts, self._unread(key)
        self._memory[key] = advance(self._memory[key], readings, current.expectation)
        if self._memory[key].verdicts != before or self._unread(key) != unread:
            self.changed(key)

    def _unread(self, key: Key) -> frozenset[PodRef]:
        """Workers that are watched and were never looked at."""
        return self._watched[key].pods - self._memory[key].evidence.pods.keys()


def _result(reading: Reading) -> str:
    return reading.reason.value if isinstance(reading, Gap) else "page"
