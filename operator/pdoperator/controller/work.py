"""The workers between queue and reconcile: what a round's end means for its key."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pdoperator.api.errors import Bug, Conflict, Failure, Invalid, Transient
from pdoperator.controller.metrics import Metrics
from pdoperator.controller.queue import Queue
from pdoperator.live.state import Key

_log = logging.getLogger(__name__)

# What only a person or a new version ends, but without an event for us: e.g. a foreign Service that has our name.
RECHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ReconcileWorker:
    """Takes keys and reconciles them, one at a time."""

    queue: Queue[Key]
    reconcile: Callable[[Key], Awaitable[bool]]  # False: the object is gone
    metrics: Metrics

    async def run(self) -> None:
        """Work for ever. Several of these run side by side."""
        while True:
            async with self.queue.claim() as key:
                with self.metrics.reconcile_seconds.time():
                    result = await self._round(key)
                self.metrics.reconciles.labels(result).inc()

    async def _round(self, key: Key) -> str:
        try:
            there = await self.reconcile(key)
        except (Conflict, Transient) as failure:
            self._retry(key, failure, logging.INFO)
            return type(failure).__name__.lower()
        except Invalid as failure:
            self.queue.add_after(key, RECHECK_SECONDS)
            _log.warning("%s/%s: %s", key.namespace, key.name, failure)
            return "invalid"
        except Bug as failure:
            self._retry(key, failure, logging.ERROR)
            return "bug"
        except Exception:  # noqa: BLE001 -- logged whole; see below
            # One object that trips us must not stop the others, and a restart would only trip again.
            delay = self.queue.retry(key)
            _log.exception("%s/%s: unexpected; again in %.1f s", key.namespace, key.name, delay)
            return "unexpected"
        self.queue.succeeded(key)
        return "ok" if there else "gone"

    def _retry(self, key: Key, failure: Failure, level: int) -> None:
        delay = self.queue.retry(key)
        _log.log(level, "%s/%s: %s; again in %.1f s", key.namespace, key.name, failure, delay)
