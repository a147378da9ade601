"""The parts of the operator, put together once."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pdoperator.cluster.apply import Applier
from pdoperator.cluster.client import Client
from pdoperator.cluster.events import Events
from pdoperator.cluster.lease import Lease
from pdoperator.controller import health
from pdoperator.controller.metrics import Metrics
from pdoperator.controller.objects import Objects
from pdoperator.controller.observer import Observer
from pdoperator.controller.queue import Queue
from pdoperator.controller.reconcile import Reconciler
from pdoperator.controller.resync import Resync
from pdoperator.controller.settings import RunSettings
from pdoperator.controller.work import ReconcileWorker
from pdoperator.live.state import Key
from pdoperator.observe.scrape import Limits, Scraper, open_session

LAG_SECONDS = 1.0  # between two looks at the event loop
# Two missed rounds and a bound for the list itself: one slow API server isn't a reason for a restart.
RESYNC_ROUNDS, RESYNC_SLACK_SECONDS = 2, 120.0
LEASE_TICKS = 10  # a try takes at most one


@dataclass(frozen=True, slots=True)
class Assembly:
    """Everything that runs, and the judgement on it."""

    lease: Lease
    metrics: Metrics
    queue: Queue[Key]
    resync: Resync
    observer: Observer
    worker: ReconcileWorker
    resync_seconds: float

    def vitals(self) -> health.Vitals:
        """What health is judged by, as of now."""
        return health.Vitals(
            active=self.lease.held,
            lease_tick_age=self.lease.tick_age,
            lease_tick_bound=self.lease.retry_seconds * LEASE_TICKS,
            resync_age=self.resync.age,
            resync_bound=self.resync_seconds * RESYNC_ROUNDS + RESYNC_SLACK_SECONDS,
            oldest_waiting=self.queue.oldest_waiting_seconds,
            oldest_working=self.queue.oldest_working_seconds,
        )

    def trouble(self) -> str:
        """Why the process should be restarted; empty while it is alive."""
        return health.trouble(self.vitals())

    def unready(self) -> str:
        """Why it isn't ready; empty when it is."""
        return health.unready(self.vitals())

    async def measure_lag(self) -> None:
        """Measure, for ever, how late the event loop is: something that blocks it delays the lease."""
        while True:
            due = time.monotonic() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self.metrics.loop_lag.set(max(0.0, time.monotonic() - due))


@asynccontextmanager
async def assembled(
    settings: RunSettings, *, client: Client, lease: Lease, metrics: Metrics
) -> AsyncIterator[Assembly]:
    """The parts, with the connections they need while the context lasts."""
    queue: Queue[Key] = Queue(now=time.monotonic, random=random.random)
    objects = Objects()
    metrics.registry.register(objects)
    async with open_session() as session:
        observer = Observer(
            scraper=Scraper(session=session, limits=Limits(), now=time.monotonic),
            due=Queue(now=time.monotonic, random=random.random),
            changed=queue.add,
            scraped=lambda result: metrics.scrapes.labels(result).inc(),
        )
        reconciler = Reconciler(
            client=client,
            applier=Applier(client),
            observer=observer,
            events=Events(client=client, now=time.monotonic, instance=settings.identity),
            objects=objects,
            plan=settings.plan,
            now=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        resync = Resync(
            client=client,
            queue=queue,
            known=lambda: objects.keys,
            namespaces=settings.namespaces,
            interval_seconds=settings.resync_seconds,
            now=time.monotonic,
            random=random.random,
        )
        worker = ReconcileWorker(queue=queue, reconcile=reconciler.reconcile, metrics=metrics)
        ours = Assembly(
            lease=lease,
            metrics=metrics,
            queue=queue,
            resync=resync,
            observer=observer,
            worker=worker,
            resync_seconds=settings.resync_seconds,
        )
        _follow(metrics, ours)
        yield ours


def _follow(metrics: Metrics, ours: Assembly) -> None:
    metrics.follow("queue_depth", "PDDeployments that wait for a worker", lambda: ours.queue.depth)
    metrics.follow(
        "queue_oldest_seconds", "How long the first of them has waited", lambda: ours.queue.oldest_waiting_seconds
    )
    metrics.follow("lease_held", "1 while this operator may act", lambda: float(ours.lease.held))
    never = float("nan")
    metrics.follow(
        "resync_age_seconds",
        "Since the last completed list of all PDDeployments; NaN before the first",
        lambda: never if ours.resync.age is None else ours.resync.age,
    )
