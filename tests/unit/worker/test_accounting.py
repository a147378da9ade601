"""The figures of the seed (item bytes 100, state bytes 7), and the units of the engines' metric."""

import pytest

from pdworker.transfer.accounting import Accounting, Items, TransferMetric
from pdworker.transfer.factor import ReplicaFactor


def a_factor(*, mla: bool = True, resolved: int | None = None) -> ReplicaFactor:
    factor = ReplicaFactor(mla=mla, warn=lambda _: None)
    if mla:
        factor.value = resolved
    return factor


SEED = Items(kv_item_bytes=100, state_item_bytes=7)


@pytest.mark.parametrize(
    ("factor", "kv_items", "state_items", "reported"),
    [
        pytest.param(a_factor(resolved=4), 8, 5, 3340, id="MLA, fan-out 4: state bytes count four times as well"),
        pytest.param(a_factor(resolved=8), 8, 5, 6680, id="MLA, fan-out 8"),
        pytest.param(a_factor(mla=False), 6, 0, 600, id="other attention with eight destinations"),
        pytest.param(a_factor(), 8, 5, 835, id="unresolved counts one copy"),
        pytest.param(a_factor(resolved=4), 0, 0, 0, id="nothing sent"),
    ],
)
def test_reported_bytes(factor: ReplicaFactor, kv_items: int, state_items: int, reported: int) -> None:
    found = Accounting(SEED, factor).reported_bytes(kv_items=kv_items, state_items=state_items)
    assert found == reported
    assert isinstance(found, int)


def test_legacy_accounting_counts_one_copy_and_leaves_the_factor_alone() -> None:
    accounting = Accounting(SEED, a_factor(resolved=4), legacy=True)
    assert accounting.reported_bytes(kv_items=8, state_items=5) == 835
    assert accounting.factor.value == 4


@pytest.mark.parametrize(
    ("legacy", "reported"), [pytest.param(False, 3200, id="right"), pytest.param(True, 800, id="legacy")]
)
def test_a_finished_transfer_has_all_three_figures(*, legacy: bool, reported: int) -> None:
    metric = Accounting(SEED, a_factor(resolved=4), legacy=legacy).finished(kv_items=8, seconds=0.5)
    assert metric == TransferMetric(logical_bytes=800, reported_bytes=reported, seconds=0.5)


@pytest.mark.case("A-01")
@pytest.mark.parametrize(
    ("reported_bytes", "seconds", "mib", "gib_per_second"),
    [
        pytest.param(1_151_336_448, 0.025, 1098.0, 42.89, id="four copies of 4096 tokens in 25 ms"),
        pytest.param(287_834_112, 0.025, 274.5, 10.72, id="one copy, as engines counted before the fix"),
        pytest.param(1 << 30, 1.0, 1024.0, 1.0, id="one GiB in a second"),
    ],
)
def test_mb_are_mib_and_gb_are_gib(reported_bytes: int, seconds: float, mib: float, gib_per_second: float) -> None:
    metric = TransferMetric(logical_bytes=287_834_112, reported_bytes=reported_bytes, seconds=seconds)
    assert metric.total_mib == mib
    assert round(metric.speed_gib_s, 2) == gib_per_second
