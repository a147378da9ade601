"""New findings into the conditions as they are stored: what stays, and since when."""

from collections.abc import Mapping
from typing import Any, Final

from pdoperator.api.conditions import ConditionType, Finding, Reason, Status

# "Nothing seen yet". After a restart the operator's memory is empty, and the stored verdict is the better knowledge.
_UNSEEN: Final = frozenset({Reason.NOT_OBSERVED, Reason.NO_TRAFFIC, Reason.WARMING_UP})
_SETTLED: Final = frozenset({Status.TRUE.value, Status.FALSE.value})
_REASONS: Final = {each.value: each for each in Reason}


def stored_conditions(status: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The stored conditions by type; tolerant of whatever else is there."""
    conditions = status.get("conditions")
    every = conditions if isinstance(conditions, list | tuple) else ()
    return {str(each.get("type")): each for each in every if isinstance(each, Mapping)}


def kept(found: Finding, stored: Mapping[str, Any] | None, *, generation: int) -> Finding:
    """The stored verdict of this generation, word for word, while nothing was seen since; else the new finding."""
    if stored is None or found.status is not Status.UNKNOWN or found.reason not in _UNSEEN:
        return found
    reason = _REASONS.get(str(stored.get("reason")))
    if reason is None or stored.get("status") not in _SETTLED or stored.get("observedGeneration") != generation:
        return found
    return Finding(Status(stored["status"]), reason, str(stored.get("message", "")))


def condition(
    kind: ConditionType, found: Finding, stored: Mapping[str, Any] | None, *, generation: int, now: str
) -> dict[str, Any]:
    """The condition to write. lastTransitionTime moves only when the status does."""
    since = None
    if stored is not None and stored.get("status") == found.status.value:
        since = stored.get("lastTransitionTime")
    return {
        "type": kind.value,
        "status": found.status.value,
        "reason": found.reason.value,
        "message": found.message,
        "observedGeneration": generation,
        "lastTransitionTime": since or now,
    }
