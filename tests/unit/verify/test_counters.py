"""One page, summed over its ranks."""

import pytest

from pdoperator.verify.counters import Counters, Implausible, read
from tests.support.pages import page


def counted(text: str) -> Counters:
    found = read(page(0, text))
    assert isinstance(found, Counters)
    return found


def test_ranks_are_summed() -> None:
    text = "\n".join(f'pd_kv_wire_bytes_total{{tp_rank="{rank}"}} 100' for rank in range(4))
    assert counted(text).wire_bytes == 400


def test_busy_seconds_are_kept_in_microseconds() -> None:
    assert counted("pd_kv_transfer_busy_seconds_total 0.025").busy_micros == 25_000


def test_the_counter_in_bytes_comes_before_the_histogram_in_mib() -> None:
    both = "pd_kv_reported_bytes_total 7\nkv_transfer_total_mb_sum 1"
    assert (counted(both).reported_bytes, counted("kv_transfer_total_mb_sum 1").reported_bytes) == (7, 1_048_576)


def test_failures_are_kept_by_reason() -> None:
    text = """
pd_kv_transfer_failures_total{tp_rank="0",reason="Timeout"} 1
pd_kv_transfer_failures_total{tp_rank="1",reason="Timeout"} 2
pd_kv_transfer_failures_total{tp_rank="0",reason="Corrupt"} 4
"""
    assert counted(text).failures == (("Corrupt", 4), ("Timeout", 3))


def test_more_reasons_than_the_contract_has_are_lumped_together() -> None:
    text = "\n".join(f'pd_kv_transfer_failures_total{{reason="r{number:02}"}} 1' for number in range(20))
    failures = counted(text).failures
    assert len(failures) == 17
    assert ("other", 4) in failures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("pd_expected_replica_factor 4", 4, id="one rank"),
        pytest.param('pd_expected_replica_factor{r="0"} 4\npd_expected_replica_factor{r="1"} 4', 4, id="ranks agree"),
        pytest.param('pd_expected_replica_factor{r="0"} 4\npd_expected_replica_factor{r="1"} 2', None, id="they don't"),
        pytest.param("pd_expected_replica_factor 0", None, id="no factor"),
        pytest.param("pd_expected_replica_factor 2.5", None, id="no whole number"),
        pytest.param("pd_expected_replica_factor NaN", None, id="no number"),
        pytest.param("up 1", None, id="absent"),
    ],
)
def test_what_the_pod_was_told(text: str, expected: int | None) -> None:
    assert counted(text).expected_factor == expected


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        pytest.param("pd_resolved_replica_factor 4", True, id="there"),
        pytest.param("pd_expected_replica_factor 4", False, id="absent while unresolved"),
    ],
)
def test_whether_the_factor_is_known_to_the_worker(text: str, *, resolved: bool) -> None:
    assert counted(text).resolved == resolved


def test_only_a_transport_that_stands_at_one_is_in_use() -> None:
    text = """
pd_transport_info{backend="Mooncake",transport="TCP"} 1
pd_transport_info{backend="Mooncake",transport="RDMA"} 0
"""
    assert counted(text).transports == {("Mooncake", "TCP")}


def test_a_counter_that_cannot_be_true_is_named_with_its_value() -> None:
    assert read(page(0, "pd_kv_logical_bytes_total -5")) == Implausible("pd_kv_logical_bytes_total is -5.0")
