"""Which turns of a status are worth an Event: a pure comparison of what was and what is."""

from collections.abc import Mapping
from typing import Any

from pdoperator.api.conditions import ConditionType
from pdoperator.cluster.events import Notice

# A condition that starts out False is no news for Ready (nothing is ready at first); a spec that is refused, and a
# factor that is wrong, are news from the first moment on.
_QUIET_AT_FIRST = frozenset({ConditionType.READY})
_ANNOUNCED = (ConditionType.TOPOLOGY_VALID, ConditionType.READY, ConditionType.REPLICA_FACTOR_VERIFIED)
# That a spec is valid is only news after it wasn't.
_GOOD_ONLY_AFTER_BAD = frozenset({ConditionType.TOPOLOGY_VALID})


def notices(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Notice, ...]:
    """The notices for the change from one status to the next; none where no announced condition turned."""
    found = (_notice(kind, _condition(old, kind), _condition(new, kind)) for kind in _ANNOUNCED)
    return tuple(notice for notice in found if notice)


def _notice(kind: ConditionType, old: Mapping[str, Any], new: Mapping[str, Any]) -> Notice | None:
    was, status = old.get("status", "Unknown"), new.get("status")
    if status == was or status not in {"True", "False"}:
        return None
    if status == "False" and was == "Unknown" and kind in _QUIET_AT_FIRST:
        return None
    if status == "True" and was != "False" and kind in _GOOD_ONLY_AFTER_BAD:
        return None
    note = f"{kind} is {status}: {new.get('message') or new.get('reason')}"
    return Notice(reason=str(new.get("reason")), note=note, warning=status == "False")


def _condition(status: Mapping[str, Any], kind: ConditionType) -> Mapping[str, Any]:
    return next((each for each in status.get("conditions") or () if each.get("type") == kind), {})
