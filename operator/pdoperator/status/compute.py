"""The whole status, from values. What is equal to what is stored is never written."""

from collections.abc import Mapping
from typing import Any, Final

from pdoperator.api.conditions import ConditionType, Finding
from pdoperator.api.errors import Failure, Invalid
from pdoperator.live.state import Live
from pdoperator.status import conditions, figures, merge
from pdoperator.status.roles import role_status, roles_of
from pdoperator.topology.resolve import Topology, status_of
from pdoperator.topology.role import WORKER_ROLES
from pdoperator.verify.verdict import Verdicts

_VERIFIED: Final = (
    ConditionType.TRANSPORT_READY,
    ConditionType.PAIRING_HEALTHY,
    ConditionType.REPLICA_FACTOR_VERIFIED,
    ConditionType.METRICS_AVAILABLE,
)
_OURS: Final = ("observedGeneration", "topology", "prefill", "decode", "observed", "factor", "bandwidth", "slo")


def compute(
    *,
    live: Live,
    topology: Topology | None,
    invalid: Invalid | None,
    failure: Failure | None,
    verdicts: Verdicts | None,
    now: str,
) -> dict[str, Any]:
    """The status to apply.

    `topology` is None when the spec is `invalid`; `failure` is what applying ended with; `verdicts` is None when
    nothing watches the workers yet. `now` (RFC 3339) is only used where a condition's status flips.
    """
    if verdicts is not None and verdicts.expectation.generation != live.generation:
        verdicts = None  # about another spec
    shown = {} if topology is None else status_of(topology)
    roles = roles_of(live)
    found = {
        ConditionType.TOPOLOGY_VALID: conditions.topology_valid(invalid, str(shown.get("derivation", ""))),
        ConditionType.AVAILABLE: conditions.available(roles),
        ConditionType.PROGRESSING: conditions.progressing(roles, invalid, failure),
        ConditionType.BANDWIDTH_SLO_MET: conditions.bandwidth_slo_met(),
        **_remembered(live, shown, conditions.verification(verdicts)),
    }
    found[ConditionType.DEGRADED] = conditions.degraded(found)
    found[ConditionType.READY] = conditions.ready(found)
    status: dict[str, Any] = {
        "observedGeneration": live.generation,
        **({"topology": shown} if shown else {}),
        **{role.value: role_status(live, roles[role]) for role in WORKER_ROLES},
        **_figures(live, shown, verdicts, found[ConditionType.REPLICA_FACTOR_VERIFIED]),
        "slo": "",
    }
    stored = merge.stored_conditions(live.status)
    status["conditions"] = [
        merge.condition(kind, found[kind], stored.get(kind.value), generation=live.generation, now=now)
        for kind in ConditionType
    ]
    return status


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether `new` has to be written over `old`. What others keep in the status is no reason to."""
    if any(old.get(name) != new.get(name) for name in _OURS):
        return True
    stored, wanted = merge.stored_conditions(old), merge.stored_conditions(new)
    return any(stored.get(kind) != each for kind, each in wanted.items())


def _remembered(
    live: Live, shown: Mapping[str, Any], found: Mapping[ConditionType, Finding]
) -> dict[ConditionType, Finding]:
    stored = merge.stored_conditions(live.status)
    known = dict(found)
    for kind in _VERIFIED:
        if kind is ConditionType.REPLICA_FACTOR_VERIFIED and not _same_factor(live, shown):
            continue
        known[kind] = merge.kept(found[kind], stored.get(kind.value), generation=live.generation)
    return known


def _same_factor(live: Live, shown: Mapping[str, Any]) -> bool:
    """A new version of the operator may expect another factor of the same spec: then the stored verdict is void."""
    before = live.status.get("topology")
    key = "expectedReplicaFactor"
    return isinstance(before, Mapping) and before.get(key) is not None and before.get(key) == shown.get(key)


def _figures(live: Live, shown: Mapping[str, Any], verdicts: Verdicts | None, factor: Finding) -> dict[str, Any]:
    """The rounded figures, kept from the store while nothing newer of this generation was measured."""
    before = live.status.get("observed") if live.status.get("observedGeneration") == live.generation else None
    stored: Mapping[str, Any] = before if isinstance(before, Mapping) else {}
    observed = verdicts.observed_factor if verdicts is not None else ""
    kept = verdicts is None or verdicts.factor != factor  # the finding is the stored one, so is its figure
    if not observed and kept and factor.status.value != "Unknown":
        observed = str(stored.get("replicaFactor", ""))
    measured = verdicts.bandwidth_bytes_per_second if verdicts is not None else None
    bandwidth = figures.steady_rate_text(str(stored.get("bandwidth", "")), measured)
    pairs = {"replicaFactor": observed, "bandwidth": bandwidth}
    known = {name: value for name, value in pairs.items() if value}
    return {
        **({"observed": known} if known else {}),
        "factor": figures.factor_text(expected=shown.get("expectedReplicaFactor"), observed=observed),
        "bandwidth": bandwidth,
    }
