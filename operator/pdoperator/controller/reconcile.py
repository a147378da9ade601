"""reconcile(key): make a PDDeployment's children what its spec asks for, and its status what is true. Level-triggered.

    gather -> decide (spec, topology, plan) -> apply -> watch (observe) -> compute the status -> write it if it changed

Any failure on the way reaches the status and gives the key its own backoff; nothing here knows why it was called.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pdoperator.api.errors import Conflict, Failure, Invalid
from pdoperator.cluster.apply import Applier
from pdoperator.cluster.client import Client
from pdoperator.cluster.events import Events
from pdoperator.cluster.gather import gather
from pdoperator.controller.announce import notices
from pdoperator.controller.decide import Valid, decide, expectation_of, watch_of
from pdoperator.controller.objects import Objects
from pdoperator.controller.observer import Observer
from pdoperator.live.state import Key, Live
from pdoperator.plan.plan import PlanSettings
from pdoperator.status.compute import changed, compute
from pdoperator.verify.verdict import Verdicts, disabled


@dataclass(frozen=True, slots=True)
class Reconciler:
    """What reconcile works with. Its parts keep per-key memory; it keeps none."""

    client: Client
    applier: Applier
    observer: Observer
    events: Events
    objects: Objects
    plan: PlanSettings
    now: Callable[[], str]  # RFC 3339, for lastTransitionTime

    async def reconcile(self, key: Key) -> bool:
        """One round; False when the PDDeployment is gone. Raises the failure that a retry may end."""
        live = await gather(self.client, key)
        if live is None:
            self.forget(key)
            return False
        decided = decide(live, self.plan)
        failure = await self._apply(live, decided)
        await self._write_status(live, decided, failure)
        if failure is not None:
            raise failure
        return True

    def forget(self, key: Key) -> None:
        """Nothing is kept for what is gone; its children are the garbage collector's."""
        for part in (self.applier, self.observer, self.objects):
            part.forget(key)

    async def _apply(self, live: Live, decided: Valid | Invalid) -> Failure | None:
        if isinstance(decided, Invalid):
            return None  # what runs is left alone
        try:
            await self.applier.apply(live, decided.manifests)
        except Failure as failure:
            return failure
        return None

    async def _write_status(self, live: Live, decided: Valid | Invalid, failure: Failure | None) -> None:
        # A name that is taken, or a field that the API server refuses, is for the user to solve, as a wrong spec is.
        invalid = next((each for each in (decided, failure) if isinstance(each, Invalid)), None)
        status = compute(
            live=live,
            topology=None if isinstance(decided, Invalid) else decided.topology,
            invalid=invalid,
            failure=None if isinstance(failure, Invalid | Conflict) else failure,  # a conflict is over at the next try
            verdicts=self._verdicts(live, decided),
            now=self.now(),
        )
        self.objects.set(live.key, status)
        if not changed(live.status, status):
            return
        meta = {"name": live.key.name, "namespace": live.key.namespace, "uid": live.uid}
        parent = {"apiVersion": live.parent["apiVersion"], "kind": live.parent["kind"], "metadata": meta}
        if await self.client.apply_status({**parent, "status": status}) is None:
            self.forget(live.key)
            return
        await self.events.post(live, notices(live.status, status))

    def _verdicts(self, live: Live, decided: Valid | Invalid) -> Verdicts | None:
        """What is known of the workers. Those of a refused spec aren't the ones it asks for: nothing is known."""
        watch = None if isinstance(decided, Invalid) else watch_of(live, decided)
        if watch is not None:
            return self.observer.watch(live.key, watch)
        self.observer.forget(live.key)
        return None if isinstance(decided, Invalid) else disabled(expectation_of(live, decided))
