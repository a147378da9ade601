"""The closed set of conditions and reasons, and that the pages for people are complete."""

import re
from pathlib import Path

import pytest

from pdoperator.api.condition_reference import FILE, RUNBOOKS, main, render, runbook_of
from pdoperator.api.conditions import STATES, ConditionType, Reason, Status

ROOT = Path(__file__).resolve().parents[3]
RUNBOOK_FOLDER = ROOT / "docs" / "runbooks"
HEADING = re.compile(r"^## (\w+)$", re.MULTILINE)

# Nobody has to do anything about these.
CALM = {
    Reason.ALL_READY,
    Reason.AS_ASKED,
    Reason.VALID,
    Reason.UP_TO_DATE,
    Reason.PAIR_ROUTABLE,
    Reason.SCALED_TO_ZERO,
    Reason.VERIFICATION_DISABLED,
    Reason.ALL_READ,
    Reason.TRANSPORT_IN_USE,
    Reason.TRANSFERS_SUCCEED,
    Reason.FACTOR_MATCHES,
    Reason.NOT_CONFIGURED,
}


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


def test_the_reference_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (ROOT / FILE).read_text() == render()
    monkeypatch.setattr("sys.argv", ["condition_reference", "--check"])
    assert main() == 0


@pytest.mark.parametrize("reason", list(Reason), ids=str)
def test_the_reference_page_has_the_reason_with_its_next_step(reason: Reason) -> None:
    assert f"### {reason.value}\n" in render()
    assert f"**Next step:** {reason.next_step}" in render()


@pytest.mark.parametrize("reason", [each for each in Reason if each not in CALM], ids=str)
def test_a_reason_that_somebody_must_act_on_has_a_runbook(reason: Reason) -> None:
    page = runbook_of(reason)
    assert page is not None
    assert reason.value in HEADING.findall((RUNBOOK_FOLDER / page).read_text())


@pytest.mark.parametrize("page", sorted(RUNBOOKS), ids=str)
def test_a_runbook_has_its_reasons_and_no_other(page: str) -> None:
    assert HEADING.findall((RUNBOOK_FOLDER / page).read_text()) == [reason.value for reason in RUNBOOKS[page]]


def test_no_runbook_is_forgotten() -> None:
    reasons = [reason for each in RUNBOOKS.values() for reason in each]
    assert len(reasons) == len(set(reasons))
    assert set(reasons) == set(Reason) - CALM
