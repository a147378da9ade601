"""One operator acts at a time: a Lease, taken when it is free and given back at the end.

Clocks are never compared between machines. A standby watches the record: when it hasn't changed for its whole duration
on the standby's own clock, its holder is gone. A holder that couldn't renew for two thirds of it stops before anybody
can think so.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pdoperator.api.errors import Conflict, Failure
from pdoperator.cluster.client import Client, Object
from pdoperator.cluster.kinds import LEASE

_log = logging.getLogger(__name__)

DURATION_SECONDS = 15  # a standby acts this long after its holder died


class Lost(Exception):  # noqa: N818 -- what happened to the lease
    """The lease couldn't be renewed in time: another operator may act from now on."""


@dataclass(slots=True)
class Lease:
    """The lease as seen by one operator."""

    client: Client
    namespace: str
    name: str
    identity: str
    now: Callable[[], float]  # monotonic seconds
    duration_seconds: int = DURATION_SECONDS
    _ticked_at: float | None = None  # when the loop last came round, whatever it found
    _held_until: float = field(default=float("-inf"))
    _record: Object | None = None
    _seen: tuple[Any, ...] = ()
    _seen_at: float = field(default=float("-inf"))

    @property
    def retry_seconds(self) -> float:
        """How often it is renewed, and how often a standby looks: three tries in a duration."""
        return self.duration_seconds / 3

    @property
    def held(self) -> bool:
        """Whether this operator may act. Turns false by itself, a third of a duration before others may take over."""
        return self.now() < self._held_until

    @property
    def tick_age(self) -> float | None:
        """Seconds since the loop last came round; None before its first time."""
        return None if self._ticked_at is None else self.now() - self._ticked_at

    async def acquire(self) -> None:
        """Wait until the lease is ours."""
        while True:
            if await self._try():
                break
            await asyncio.sleep(self.retry_seconds)
        _log.info("lease %s/%s acquired as %s", self.namespace, self.name, self.identity)

    async def keep(self) -> None:
        """Renew for ever; Lost when that fails for too long."""
        renewed = True
        while True:
            await asyncio.sleep(self.retry_seconds if renewed else self.retry_seconds / 5)
            renewed = await self._try()
            if not self.held:
                raise Lost(f"lease {self.namespace}/{self.name} not renewed within {2 * self.retry_seconds:g} s")

    async def release(self) -> None:
        """Let a standby take over at once instead of after a whole duration."""
        if self._record is None or not self.held:
            return
        self._held_until = float("-inf")
        spec = {**self._record["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        with contextlib.suppress(Failure, TimeoutError):  # then it just expires
            async with asyncio.timeout(self.retry_seconds):
                await self._write(self._record, spec)

    async def _try(self) -> bool:
        started = self._ticked_at = self.now()
        # No request may outlive the lease: an answer after its end would be taken for a renewal.
        try:
            async with asyncio.timeout(self.retry_seconds):
                if not await self._take():
                    return False
        except (Failure, TimeoutError) as failure:
            _log.warning("lease %s/%s: %s", self.namespace, self.name, str(failure) or "no answer in time")
            return False
        # Counted from before the request: the record is at least that old for everybody who reads it.
        self._held_until = started + 2 * self.retry_seconds
        return True

    async def _take(self) -> bool:
        found = await self.client.get(LEASE, namespace=self.namespace, name=self.name)
        if found is None:
            return await self._write(None, self._spec({}))
        self._observe(found)
        spec = found.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder not in ("", self.identity) and not self._expired(spec):
            return False
        return await self._write(found, self._spec(spec))

    def _observe(self, found: Object) -> None:
        seen = (found["metadata"]["uid"], found["metadata"]["resourceVersion"])
        if seen != self._seen:
            self._seen, self._seen_at = seen, self.now()

    def _expired(self, spec: Mapping[str, Any]) -> bool:
        duration = spec.get("leaseDurationSeconds") or self.duration_seconds
        return self.now() - self._seen_at > duration

    def _spec(self, old: Mapping[str, Any]) -> Object:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")  # for people to read
        taken_over = old.get("holderIdentity") != self.identity
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.duration_seconds,
            "acquireTime": now if taken_over else old.get("acquireTime", now),
            "renewTime": now,
            "leaseTransitions": (old.get("leaseTransitions") or 0) + (1 if old and taken_over else 0),
        }

    async def _write(self, found: Object | None, spec: Object) -> bool:
        """Write our record over the version that was read; False when somebody was faster."""
        meta = {"name": self.name, "namespace": self.namespace}
        manifest: Object = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": meta, "spec": spec}
        try:
            if found is None:
                self._record = await self.client.create(manifest)
            else:
                manifest["metadata"] = {**meta, "resourceVersion": found["metadata"]["resourceVersion"]}
                self._record = await self.client.replace(manifest)
        except Conflict:
            return False
        self._observe(self._record)
        return True
