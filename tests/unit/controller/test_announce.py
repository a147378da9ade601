from typing import Any

import pytest

from pdoperator.controller.announce import notices


def a_status(kind: str, status: str, message: str = "why") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, "reason": "SomeReason", "message": message}]}


@pytest.mark.parametrize(
    ("kind", "old", "new", "told"),
    [
        pytest.param("Ready", "False", "True", [("Normal", "Ready is True: why")], id="became ready"),
        pytest.param("Ready", "True", "False", [("Warning", "Ready is False: why")], id="stopped being ready"),
        pytest.param("Ready", "Unknown", "False", [], id="a new one isn't ready: no news"),
        pytest.param("Ready", "True", "True", [], id="nothing turned"),
        pytest.param("Ready", "True", "Unknown", [], id="nothing known is no news"),
        pytest.param("TopologyValid", "Unknown", "True", [], id="valid from the start: no news"),
        pytest.param("TopologyValid", "Unknown", "False", [("Warning", "TopologyValid is False: why")], id="refused"),
        pytest.param("TopologyValid", "False", "True", [("Normal", "TopologyValid is True: why")], id="corrected"),
        pytest.param(
            "ReplicaFactorVerified",
            "Unknown",
            "True",
            [("Normal", "ReplicaFactorVerified is True: why")],
            id="verified",
        ),
        pytest.param(
            "ReplicaFactorVerified", "True", "False", [("Warning", "ReplicaFactorVerified is False: why")], id="wrong"
        ),
        pytest.param("PairingHealthy", "True", "False", [], id="other conditions are for those who look"),
    ],
)
def test_a_turn(kind: str, old: str, new: str, told: list[tuple[str, str]]) -> None:
    found = notices(a_status(kind, old), a_status(kind, new))
    assert [("Warning" if each.warning else "Normal", each.note) for each in found] == told


def test_another_message_alone_is_no_news() -> None:
    assert notices(a_status("Ready", "False", "1 of 2"), a_status("Ready", "False", "2 of 2")) == ()


def test_the_first_status_is_compared_with_nothing() -> None:
    assert notices({}, a_status("Ready", "False")) == ()
    assert len(notices({}, a_status("TopologyValid", "False"))) == 1


def test_the_reason_is_the_conditions_reason() -> None:
    (notice,) = notices(a_status("Ready", "False"), a_status("Ready", "True"))
    assert notice.reason == "SomeReason"
