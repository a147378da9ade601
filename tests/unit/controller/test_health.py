from dataclasses import replace

import pytest

from pdoperator.controller.health import Vitals, trouble, unready

WELL = Vitals(
    active=True,
    lease_tick_age=3,
    lease_tick_bound=50,
    resync_age=100,
    resync_bound=1320,
    oldest_waiting=0,
    oldest_working=0.1,
)


@pytest.mark.case("E-09")
@pytest.mark.parametrize(
    ("vitals", "why"),
    [
        pytest.param(WELL, "", id="all is well"),
        pytest.param(
            replace(WELL, resync_age=1321),
            "no resync completed for 1321 s (bound 1320 s)",
            id="the watches may be deaf too: nothing has been listed",
        ),
        pytest.param(
            replace(WELL, oldest_waiting=301), "a key has waited for 301 s (bound 300 s)", id="no worker takes a key"
        ),
        pytest.param(
            replace(WELL, oldest_working=301), "a reconcile has run for 301 s (bound 300 s)", id="a worker is stuck"
        ),
        pytest.param(
            replace(WELL, lease_tick_age=51),
            "the lease loop last came round 51 s ago (bound 50 s)",
            id="the lease loop is stuck",
        ),
        pytest.param(replace(WELL, resync_age=None), "", id="not listed yet is not dead"),
        pytest.param(replace(WELL, active=False, resync_age=9999), "", id="a standby lists nothing"),
        pytest.param(
            replace(WELL, active=False, lease_tick_age=51),
            "the lease loop last came round 51 s ago (bound 50 s)",
            id="a standby that no longer looks at the lease is dead",
        ),
        pytest.param(replace(WELL, lease_tick_age=None), "", id="just started"),
    ],
)
def test_trouble(vitals: Vitals, why: str) -> None:
    assert trouble(vitals) == why


@pytest.mark.parametrize(
    ("vitals", "why"),
    [
        pytest.param(WELL, "", id="listed and well"),
        pytest.param(
            replace(WELL, resync_age=None), "the first list of all PDDeployments hasn't completed", id="not listed yet"
        ),
        pytest.param(replace(WELL, active=False, resync_age=None), "", id="a standby holds up no rollout"),
        pytest.param(replace(WELL, resync_age=1321), "no resync completed for 1321 s (bound 1320 s)", id="in trouble"),
    ],
)
def test_unready(vitals: Vitals, why: str) -> None:
    assert unready(vitals) == why
