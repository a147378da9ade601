"""Every PDDeployment is looked at again from time to time, whatever the watches said or didn't say."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pdoperator.api.errors import Failure
from pdoperator.cluster.client import Client
from pdoperator.cluster.kinds import PDDEPLOYMENT
from pdoperator.controller.queue import Backoff, Queue
from pdoperator.live.state import Key

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Resync:
    """Lists all PDDeployments, enqueues each, and remembers when it last succeeded."""

    client: Client
    queue: Queue[Key]
    known: Callable[[], Iterable[Key]]  # what the operator remembers: one that is gone is dropped by its reconcile
    namespaces: Sequence[str]  # none: all
    interval_seconds: float
    now: Callable[[], float]
    random: Callable[[], float]
    completed_at: float | None = None
    listed: asyncio.Event = field(default_factory=asyncio.Event)  # set by the first completed list
    backoff: Backoff = field(default_factory=lambda: Backoff(base_seconds=1.0, cap_seconds=30.0))

    @property
    def age(self) -> float | None:
        """Seconds since the last completed list; None before the first."""
        return None if self.completed_at is None else self.now() - self.completed_at

    async def run(self) -> None:
        """List now and then once per interval, for ever."""
        failures = 0
        while True:
            try:
                await self.once()
                failures = 0
                await asyncio.sleep(self.interval_seconds)
            except Failure as failure:
                failures += 1
                delay = self.backoff.delay(failures=failures, random=self.random())
                _log.warning("resync failed, again in %.1f s: %s", delay, failure)
                await asyncio.sleep(delay)

    async def once(self) -> None:
        """One whole list."""
        keys = set(self.known())
        for namespace in self.namespaces or (None,):
            found = await self.client.list(PDDEPLOYMENT, namespace=namespace)
            keys.update(Key(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found)
        for key in sorted(keys, key=lambda each: (each.namespace, each.name)):
            self.queue.add(key)
        self.completed_at = self.now()
        self.listed.set()
