"""The pages for people about conditions are complete."""

import re
from pathlib import Path

import pytest

from pdoperator.api.reasons import Reason
from pdoperator.generate.conditions_page import RUNBOOKS, render, runbook_of

RUNBOOK_FOLDER = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
HEADING = re.compile(r"^## (\w+)$", re.MULTILINE)

# Nobody has to do anything about these.
CALM = {
    Reason.ALL_READY,
    Reason.AS_EXPECTED,
    Reason.VALID,
    Reason.UP_TO_DATE,
    Reason.PAIR_ROUTABLE,
    Reason.SCALED_TO_ZERO,
    Reason.VERIFICATION_DISABLED,
    Reason.SCRAPED,
    Reason.TRANSPORT_IN_USE,
    Reason.TRANSFERS_SUCCEED,
    Reason.FACTOR_MATCHES,
    Reason.NOT_CONFIGURED,
}


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
