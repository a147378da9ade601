"""Two operators, one of which acts."""

from pathlib import Path

import pytest

from tests.support.apiserver import Apiserver
from tests.support.operator import eventually, running_operator, throughout
from tests.support.place import Place, make_place

pytestmark = pytest.mark.slow


@pytest.fixture
def place(apiserver: Apiserver, request: pytest.FixtureRequest) -> Place:
    return make_place(apiserver, f"lease-{abs(hash(request.node.name)) % 10**6}")


def test_one_of_two_acts_and_the_other_takes_over_after_kill_9(place: Place, tmp_path: Path) -> None:
    kubeconfig, lease = place.server.kubeconfig, {"PD_LEASE_SECONDS": "6"}
    with (
        running_operator(kubeconfig, tmp_path / "first", namespace=place.namespace, **lease) as first,
        running_operator(kubeconfig, tmp_path / "second", namespace=place.namespace, **lease) as second,
    ):
        operators = [first, second]
        eventually(lambda: any(each.metric("pd_operator_lease_held") for each in operators), what="one holds")
        active, standby = sorted(operators, key=lambda each: -each.metric("pd_operator_lease_held"))
        place.create("v2")
        place.complete("v2")
        assert throughout(lambda: standby.metric("pd_operator_lease_held"), seconds=7) == 0
        assert standby.writes() == 0
        assert standby.page("/readyz") == "ok\n"  # or a rollout would wait for it
        active.kill()
        eventually(lambda: standby.metric("pd_operator_lease_held") == 1, what="the takeover", seconds=20)
        place.create("v3")
        place.complete("v3")


def test_a_stopped_operator_hands_over_at_once(place: Place, tmp_path: Path) -> None:
    kubeconfig, lease = place.server.kubeconfig, {"PD_LEASE_SECONDS": "60"}
    with running_operator(kubeconfig, tmp_path / "first", namespace=place.namespace, **lease) as first:
        first.wait_active()
        assert first.stop() == 0
    assert place.get("lease", "pd-operator")["spec"]["holderIdentity"] == ""
    with running_operator(kubeconfig, tmp_path / "second", namespace=place.namespace, **lease) as second:
        eventually(lambda: second.metric("pd_operator_lease_held") == 1, what="the lease", seconds=15)


def test_an_operator_whose_lease_was_taken_ends_without_another_write(place: Place, tmp_path: Path) -> None:
    kubeconfig = place.server.kubeconfig
    with running_operator(kubeconfig, tmp_path / "log", namespace=place.namespace, PD_LEASE_SECONDS="6") as operator:
        operator.wait_active()
        place.kubectl(
            "patch", "lease", "pd-operator", "--type=merge",
            "-p", '{"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": 600}}',
        )  # fmt: skip
        assert operator.process.wait(timeout=20) == 3
        assert place.get("lease", "pd-operator")["spec"]["holderIdentity"] == "somebody-else"
        assert "Traceback" not in operator.story()
