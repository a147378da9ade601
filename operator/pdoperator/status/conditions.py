"""One function per condition. Each takes values and gives a finding; none knows the clock or the stored status."""

from collections.abc import Iterable, Mapping
from typing import Final

from pdoperator.api.conditions import ConditionType, Finding, Reason, Status
from pdoperator.api.errors import Conflict, Failure, Invalid, Transient, Unsupported
from pdoperator.status.pod_troubles import quoted
from pdoperator.status.roles import RoleState
from pdoperator.topology.role import Role
from pdoperator.verify.verdict import Verdicts

Findings = Mapping[ConditionType, Finding]

_MISSING: Final = {Role.ROUTER: Reason.NO_ROUTER, Role.PREFILL: Reason.NO_PREFILL, Role.DECODE: Reason.NO_DECODE}

# What Degraded takes its reason from, worst first.
_WORST_FIRST: Final = (
    ConditionType.TOPOLOGY_VALID,
    ConditionType.PROGRESSING,
    ConditionType.AVAILABLE,
    ConditionType.TRANSPORT_READY,
    ConditionType.PAIRING_HEALTHY,
    ConditionType.REPLICA_FACTOR_VERIFIED,
    ConditionType.METRICS_AVAILABLE,
)
# False, but nothing that was asked for fails to hold: pods that aren't there yet are Progressing's news.
_NO_FAULT: Final = frozenset(
    {Reason.UP_TO_DATE, Reason.SCALED_TO_ZERO, Reason.NO_ROUTER, Reason.NO_PREFILL, Reason.NO_DECODE}
)


def topology_valid(invalid: Invalid | None, derivation: str) -> Finding:
    """The spec, as the model and the topology judge it."""
    if invalid is None:
        return Finding(Status.TRUE, Reason.VALID, derivation or "the sizes go together.")
    reason = Reason.UNSUPPORTED_FIELD if isinstance(invalid, Unsupported) else Reason.TOPOLOGY_INVALID
    return Finding(
        Status.FALSE, reason, f"{invalid.field}: {quoted(invalid.message)}. Nothing was applied; running pods go on."
    )


def available(roles: Mapping[Role, RoleState]) -> Finding:
    """Whether a request can be served."""
    missing = [state for state in roles.values() if state.ready == 0]
    if not missing:
        return Finding(Status.TRUE, Reason.PAIR_ROUTABLE, "a router, a prefill and a decode pod are ready.")
    zero = [state for state in missing if state.workload is not None and state.desired == 0]
    if zero:
        who = " and ".join(state.role.value for state in zero)
        return Finding(Status.FALSE, Reason.SCALED_TO_ZERO, f"{who} is asked to have 0 replicas.")
    if (trouble := _worst_trouble(missing)) is not None:
        return trouble
    first = missing[0]
    words = ", ".join(f"{state.role.value} {state.summary}" for state in missing)
    return Finding(Status.FALSE, _MISSING[first.role], f"no ready pod (ready/asked for): {words}.")


def progressing(roles: Mapping[Role, RoleState], invalid: Invalid | None, failure: Failure | None) -> Finding:
    """Whether something is on its way, and if not, whether that is because it arrived or because it is stuck."""
    if invalid is not None:
        stuck = topology_valid(invalid, "")
        return Finding(Status.FALSE, stuck.reason, stuck.message)
    if failure is not None:
        return _not_applied(failure)
    if (trouble := _worst_trouble(roles.values())) is not None:
        return trouble
    rolling = [state.role.value for state in roles.values() if state.rolling]
    if rolling:
        return Finding(Status.TRUE, Reason.ROLLING_OUT, f"a newer revision is rolling out: {', '.join(rolling)}.")
    waiting = [state for state in roles.values() if state.workload is None or state.ready < state.desired]
    if waiting:
        words = ", ".join(f"{state.role.value} {state.summary}" for state in waiting)
        return Finding(Status.TRUE, Reason.STARTING, f"pods aren't all ready (ready/asked for): {words}.")
    return Finding(Status.FALSE, Reason.UP_TO_DATE, "every pod runs what the spec says and is ready.")


def _not_applied(failure: Failure) -> Finding:
    words = quoted(str(failure))
    if isinstance(failure, Transient | Conflict):
        return Finding(Status.TRUE, Reason.APPLY_RETRYING, f"applying is retried: {words}")
    return Finding(Status.FALSE, Reason.APPLY_FAILED, f"the API server refused an object: {words}")


def verification(verdicts: Verdicts | None) -> dict[ConditionType, Finding]:
    """What the workers' metrics say; Unknown, never False, while they weren't read."""
    if verdicts is None:
        unseen = Finding(Status.UNKNOWN, Reason.NOT_OBSERVED, "no worker's metrics were read for this generation yet.")
        return dict.fromkeys(
            (
                ConditionType.TRANSPORT_READY,
                ConditionType.PAIRING_HEALTHY,
                ConditionType.REPLICA_FACTOR_VERIFIED,
                ConditionType.METRICS_AVAILABLE,
            ),
            unseen,
        )
    return {
        ConditionType.TRANSPORT_READY: verdicts.transport,
        ConditionType.PAIRING_HEALTHY: verdicts.pairing,
        ConditionType.REPLICA_FACTOR_VERIFIED: verdicts.factor,
        ConditionType.METRICS_AVAILABLE: verdicts.metrics,
    }


def bandwidth_slo_met() -> Finding:
    """No SLO can be asked for yet."""
    return Finding(Status.UNKNOWN, Reason.NOT_CONFIGURED, "the spec has no bandwidth floor.")


def degraded(found: Findings) -> Finding:
    """True with the reason of the worst finding."""
    for kind in _WORST_FIRST:
        each = found[kind]
        if each.status is Status.FALSE and each.reason not in _NO_FAULT:
            return Finding(Status.TRUE, each.reason, f"{kind.value}: {each.message}")
    transport = found[ConditionType.TRANSPORT_READY]
    if transport.reason is Reason.FELL_BACK_TO_TCP:
        return Finding(Status.TRUE, transport.reason, transport.message)
    return Finding(Status.FALSE, Reason.AS_EXPECTED, "nothing asked for is known not to hold.")


def ready(found: Findings) -> Finding:
    """The summary. A transport that nobody looked at yet keeps it Unknown; one that nobody may look at doesn't."""
    for kind in (ConditionType.TOPOLOGY_VALID, ConditionType.AVAILABLE, ConditionType.TRANSPORT_READY):
        each = found[kind]
        if each.status is Status.FALSE:
            return Finding(Status.FALSE, each.reason, each.message)
    transport = found[ConditionType.TRANSPORT_READY]
    if transport.status is Status.UNKNOWN and transport.reason is not Reason.VERIFICATION_DISABLED:
        return Finding(Status.UNKNOWN, transport.reason, transport.message)
    return Finding(Status.TRUE, Reason.ALL_READY, "a prefill/decode pair is routable over the transport asked for.")


def _worst_trouble(states: Iterable[RoleState]) -> Finding | None:
    """The first role's trouble, with the words of every role that has the same."""
    troubles = [state.trouble for state in states if state.trouble is not None]
    if not troubles:
        return None
    reason = troubles[0].reason
    same = [each.message for each in troubles if each.reason is reason]
    return Finding(Status.FALSE, reason, " ".join(same))
