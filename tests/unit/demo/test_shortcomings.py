"""The demo must fail when any of what it promises isn't so."""

from typing import Any

import pytest

from pddemo.__main__ import shortcomings


def pdd(
    *, ready: str = "True", verified: str = "True", expected: int = 4, observed: str = "4", bandwidth: str = "2.1 GB/s"
) -> dict[str, Any]:
    return {
        "status": {
            "topology": {"expectedReplicaFactor": expected},
            "observed": {"replicaFactor": observed, "bandwidth": bandwidth},
            "conditions": [
                {"type": "Ready", "status": ready, "message": "m"},
                {"type": "ReplicaFactorVerified", "status": verified, "message": "m"},
            ],
        }
    }


def test_a_verified_deployment_has_none() -> None:
    assert shortcomings(pdd()) == []


@pytest.mark.parametrize(("seen", "said"), [
    pytest.param(pdd(ready="False"), "Ready is False, not True: m", id="not ready"),
    pytest.param(pdd(verified="Unknown"), "ReplicaFactorVerified is Unknown, not True: m", id="not verified"),
    pytest.param(pdd(expected=2), "expected replica factor is 2, not 4", id="another factor expected"),
    pytest.param(pdd(observed="1"), "observed replica factor is 1, not 4", id="another factor observed"),
    pytest.param(pdd(bandwidth=""), "no bandwidth was measured", id="no bandwidth"),
    pytest.param({"status": {"topology": {}, "conditions": []}}, "Ready is absent, not True: None", id="nothing known"),
])  # fmt: skip
def test_each_promise_not_kept_is_said(seen: dict[str, Any], said: str) -> None:
    assert said in shortcomings(seen)
