"""Events for people: what turned, on the object they are looking at. Losing one never matters."""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pdoperator.api.errors import Failure
from pdoperator.cluster.client import Client
from pdoperator.cluster.kinds import EVENT
from pdoperator.live.state import Live

_log = logging.getLogger(__name__)

MAX_NOTE = 1024  # bytes, the API server's own limit
MAX_REASON = 128
# A condition that flaps may not flood the namespace: so many per object and window, the rest only in the log.
BURST = 10
WINDOW_SECONDS = 600.0
REMEMBERED_OBJECTS = 10_000


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell. A warning asks for somebody's attention."""

    reason: str
    note: str
    warning: bool
    action: str = "Reconcile"


@dataclass(slots=True)
class Events:
    """Posts notices as events.k8s.io/v1."""

    client: Client
    now: Callable[[], float]  # monotonic seconds
    instance: str  # this operator's name
    _sent: OrderedDict[str, list[float]] = field(default_factory=OrderedDict)

    async def post(self, live: Live, notices: Sequence[Notice]) -> None:
        """Post each notice; what fails or is too many is only logged."""
        for notice in notices:
            _log.info("%s/%s: %s: %s", live.key.namespace, live.key.name, notice.reason, notice.note)
            if not self._allowed(live.uid):
                continue
            try:
                await self.client.create(self._manifest(live, notice))
            except Failure as failure:
                _log.warning("event not posted: %s", failure)

    def _allowed(self, uid: str) -> bool:
        now = self.now()
        recent = [at for at in self._sent.pop(uid, []) if now - at < WINDOW_SECONDS]
        allowed = len(recent) < BURST
        self._sent[uid] = [*recent, now] if allowed else recent
        while len(self._sent) > REMEMBERED_OBJECTS:
            self._sent.popitem(last=False)
        return allowed

    def _manifest(self, live: Live, notice: Notice) -> dict[str, object]:
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": f"{live.key.name}.{secrets.token_hex(8)}", "namespace": live.key.namespace},
            "eventTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "reportingController": "pdoperator.io/pd-operator",
            "reportingInstance": self.instance[:128],
            "action": notice.action,
            "reason": notice.reason[:MAX_REASON],
            "note": notice.note.encode()[:MAX_NOTE].decode(errors="ignore"),
            "type": "Warning" if notice.warning else "Normal",
            "regarding": {
                "apiVersion": live.parent["apiVersion"],
                "kind": live.parent["kind"],
                "namespace": live.key.namespace,
                "name": live.key.name,
                "uid": live.uid,
                "resourceVersion": live.resource_version,
            },
        }
