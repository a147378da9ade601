import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from pdoperator.api.conditions import Finding, Reason, Status
from pdoperator.controller.observer import Observer, Watch
from pdoperator.controller.queue import Queue
from pdoperator.live.state import Key
from pdoperator.observe.scrape import Target
from pdoperator.topology.role import Role
from pdoperator.verify.samples import Reading
from tests.support import pages

pytestmark = pytest.mark.looptime

KEY = Key("ns", "v2")
PREFILL = Target(pages.pod("v2-prefill-0"), Role.PREFILL, "10.0.0.1", 30000)
DECODE = Target(pages.pod("v2-decode-0"), Role.DECODE, "10.0.0.2", 30000)


class Workers:
    """Stands for the scraper: pages of workers that transfer 8 MiB per second with factor 4, or don't answer."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.at: list[float] = []
        self.seconds = seconds

    async def scrape(self, targets: Sequence[Target]) -> tuple[Reading, ...]:
        now = asyncio.get_running_loop().time()
        self.at.append(round(now, 1))
        await asyncio.sleep(self.seconds)
        moved = int(now) * 8
        made: dict[Role, Reading] = {
            Role.PREFILL: pages.prefill(now, transfers=int(now), logical=moved, reported=moved * 4, busy=now / 10),
            Role.DECODE: pages.decode(now, wire=moved * 4),
        }
        return tuple(made[target.role] for target in targets)


def an_observer(workers: Workers, changed: list[Key]) -> Observer:
    now = asyncio.get_running_loop().time
    return Observer(
        scraper=workers,  # type: ignore[arg-type]
        due=Queue(now=now, random=lambda: 0.5),
        changed=changed.append,
        scraped=Counter[str]().update,
    )


def a_watch(*targets: Target, uid: str = "uid-of-v2", interval: float = 15) -> Watch:
    return Watch(expectation=pages.expecting(4, uid=uid), targets=targets, interval_seconds=interval)


async def test_each_interval_one_scrape_however_often_reconcile_asks() -> None:
    workers, changed = Workers(), list[Key]()
    observer = an_observer(workers, changed)
    task = asyncio.create_task(observer.work())
    for _ in range(61):
        observer.watch(KEY, a_watch(PREFILL, DECODE))
        await asyncio.sleep(1)
    assert workers.at == [0, 15, 30, 45, 60]
    task.cancel()


async def test_a_slow_scrape_does_not_stretch_the_interval() -> None:
    workers = Workers(seconds=2)
    observer = an_observer(workers, [])
    task = asyncio.create_task(observer.work())
    observer.watch(KEY, a_watch(PREFILL))
    await asyncio.sleep(31)
    assert workers.at == [0, 15, 30]
    task.cancel()


async def test_a_changed_verdict_asks_for_a_reconcile_and_an_unchanged_one_does_not() -> None:
    workers, changed = Workers(), list[Key]()
    observer = an_observer(workers, changed)
    task = asyncio.create_task(observer.work())
    observer.watch(KEY, a_watch(PREFILL, DECODE))
    await asyncio.sleep(300)
    verified = len(changed)
    assert 1 <= verified <= 8
    assert observer.watch(KEY, a_watch(PREFILL, DECODE)).factor.status == "True"
    await asyncio.sleep(3000)  # two hundred scrapes of a steady stream
    assert len(changed) == verified
    task.cancel()


async def test_the_first_worker_is_read_at_once() -> None:
    workers = Workers()
    observer = an_observer(workers, [])
    task = asyncio.create_task(observer.work())
    observer.watch(KEY, a_watch())
    await asyncio.sleep(5)
    observer.watch(KEY, a_watch(PREFILL))
    await asyncio.sleep(1)
    assert workers.at == [0, 5]
    task.cancel()


async def test_what_is_forgotten_is_read_no_more_and_keeps_no_memory() -> None:
    workers, changed = Workers(seconds=1), list[Key]()
    observer = an_observer(workers, changed)
    task = asyncio.create_task(observer.work())
    observer.watch(KEY, a_watch(PREFILL))
    await asyncio.sleep(0.5)
    observer.forget(KEY)  # while the scrape is under way
    await asyncio.sleep(100)
    assert workers.at == [0]
    assert changed == []
    assert observer._memory == {}
    task.cancel()


async def test_a_scrape_of_a_deleted_object_is_not_counted_for_its_successor() -> None:
    workers, changed = Workers(seconds=1), list[Key]()
    observer = an_observer(workers, changed)
    task = asyncio.create_task(observer.work())
    observer.watch(KEY, a_watch(PREFILL))
    await asyncio.sleep(0.5)
    observer.forget(KEY)
    fresh = observer.watch(KEY, a_watch(uid="uid-of-another"))
    await asyncio.sleep(1)
    assert observer.watch(KEY, a_watch(uid="uid-of-another")) == fresh
    task.cancel()


async def test_a_worker_that_starts_later_is_read_at_once_and_nobody_takes_the_others_for_all() -> None:
    workers, changed = Workers(), list[Key]()
    observer = an_observer(workers, changed)
    task = asyncio.create_task(observer.work())
    observer.watch(KEY, a_watch(DECODE))
    await asyncio.sleep(5)
    assert observer.watch(KEY, a_watch(DECODE)).metrics.status is Status.TRUE
    changed.clear()
    assert observer.watch(KEY, a_watch(PREFILL, DECODE)).metrics == Finding(
        Status.UNKNOWN, Reason.NOT_SCRAPED, "started and not read yet: v2-prefill-0."
    )
    await asyncio.sleep(1)
    assert workers.at == [0, 5]
    assert changed == [KEY]
    assert observer.watch(KEY, a_watch(PREFILL, DECODE)).metrics.status is Status.TRUE
    task.cancel()
