"""The closed set of conditions and reasons."""

import re

import pytest

from pdoperator.api.conditions import STATES, ConditionType, Reason, Status


def test_the_ten_conditions() -> None:
    assert [kind.value for kind in ConditionType] == [
        "Ready",
        "Degraded",
        "TopologyValid",
        "Available",
        "Progressing",
        "TransportReady",
        "PairingHealthy",
        "ReplicaFactorVerified",
        "MetricsAvailable",
        "BandwidthSLOMet",
    ]


@pytest.mark.parametrize("reason", list(Reason), ids=str)
def test_every_reason_is_explained_and_used(reason: Reason) -> None:
    assert re.fullmatch(r"[A-Z][A-Za-z]+", reason.value)
    assert reason.meaning.endswith(".")
    assert reason.next_step.endswith(".")
    assert any(reason in reasons for states in STATES.values() for reasons in states.values())


@pytest.mark.parametrize("kind", list(ConditionType), ids=str)
def test_a_reason_gives_one_condition_one_status(kind: ConditionType) -> None:
    reasons = [reason for reasons in STATES[kind].values() for reason in reasons]
    assert len(reasons) == len(set(reasons))


def test_verification_never_takes_ready_away() -> None:
    kinds = (
        ConditionType.PAIRING_HEALTHY,
        ConditionType.REPLICA_FACTOR_VERIFIED,
        ConditionType.METRICS_AVAILABLE,
    )
    verdicts = {reason for kind in kinds for reason in STATES[kind][Status.FALSE]}
    assert not verdicts & set(STATES[ConditionType.READY][Status.FALSE])
    assert verdicts <= set(STATES[ConditionType.DEGRADED][Status.TRUE])
