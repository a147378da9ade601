"""The page of a rank and of a pod, read back by Prometheus' own parser."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pdworker.metrics import Metrics, merge
from pdworker.reasons import Reason
from pdworker.transfer.accounting import TransferMetric

SENT = TransferMetric(logical_bytes=1 << 30, reported_bytes=4 << 30, seconds=2.0)


def series(page: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def sums(page: str) -> dict[str, float]:
    total: dict[str, float] = {}
    for (name, _), value in series(page).items():
        total[name] = total.get(name, 0) + value
    return total


def a_sender(rank: int = 0) -> Metrics:
    metrics = Metrics(role="prefill", tp_rank=rank, cp_rank=rank)
    metrics.uses(backend="Mooncake", transport="TCP")
    return metrics


def test_a_transfer_counts_in_every_unit() -> None:
    metrics = a_sender()
    metrics.transferred(SENT)
    read = sums(metrics.page())
    assert read["kv_transfer_total_mb_sum"] == 4096
    assert read["kv_transfer_speed_gb_s_sum"] == 2
    assert read["kv_transfer_latency_ms_sum"] == 2000
    assert read["pd_kv_transfers_total"] == 1
    assert read["pd_kv_logical_bytes_total"] == 1 << 30
    assert read["pd_kv_reported_bytes_total"] == 4 << 30
    assert read["pd_kv_transfer_busy_seconds_total"] == 2


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("kv_transfer_total_mb", [1, 5, 10, 50, 100, 500, 1000, 5000, 10000]),
        ("kv_transfer_speed_gb_s", [0.1, 0.5, 1, 5, 10, 25, 50, 100, 200, 400]),
        ("kv_transfer_latency_ms", [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000]),
    ],
)
def test_buckets_are_the_engines(name: str, bounds: list[float]) -> None:
    found = [float(dict(labels)["le"]) for (each, labels) in series(a_sender().page()) if each == f"{name}_bucket"]
    assert sorted(found) == [*bounds, float("inf")]


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_every_series_carries_role_and_ranks_and_nothing_that_belongs_to_a_scraper(role: str) -> None:
    metrics = Metrics(role=role, tp_rank=3, cp_rank=1)
    metrics.expects(4)
    metrics.resolves(4)
    metrics.uses(backend="Mooncake", transport="TCP")
    allowed = {"role", "tp_rank", "cp_rank", "reason", "backend", "transport", "le"}
    for _, labels in series(metrics.page()):
        given = dict(labels)
        assert (given["role"], given["tp_rank"], given["cp_rank"]) == (role, "3", "1")
        assert set(given) <= allowed


@pytest.mark.parametrize("name", ["pd_resolved_replica_factor", "pd_expected_replica_factor"])
def test_a_factor_that_is_not_known_is_absent_not_zero(name: str) -> None:
    assert name not in sums(a_sender().page())


def test_the_resolved_factor_follows_the_barrier() -> None:
    metrics = a_sender()
    metrics.resolves(4)
    metrics.resolves(2)
    assert sums(metrics.page())["pd_resolved_replica_factor"] == 2


def test_every_reason_is_there_from_the_start_and_the_set_is_closed() -> None:
    page = a_sender().page()
    reasons = {dict(labels)["reason"] for (name, labels) in series(page) if name == "pd_kv_transfer_failures_total"}
    assert reasons == set(Reason)


def test_no_series_says_when_a_counter_was_created() -> None:
    assert not [name for name, _ in series(a_sender().page()) if name.endswith("_created")]


def test_a_receiver_counts_what_arrived_and_what_was_wrong() -> None:
    metrics = Metrics(role="decode", tp_rank=0, cp_rank=0)
    metrics.received(100)
    metrics.corrupt(2)
    metrics.failed(Reason.CORRUPT_PAGE)
    read = sums(metrics.page())
    assert (read["pd_kv_wire_bytes_total"], read["pd_kv_pages_corrupt_total"]) == (100, 2)
    assert read["pd_kv_transfer_failures_total"] == 1


def test_a_pods_page_has_each_family_once_and_every_ranks_series() -> None:
    pages = [a_sender(rank).page() for rank in range(4)]
    page = merge(pages)
    for kind in ("HELP", "TYPE"):
        heads = [line.split(" ")[2] for line in page.splitlines() if line.startswith(f"# {kind} ")]
        assert len(heads) == len(set(heads)) == 9
    assert series(page) == {key: value for each in pages for key, value in series(each).items()}


def test_a_family_that_one_rank_alone_has_stays() -> None:
    resolved = a_sender(1)
    resolved.resolves(4)
    page = merge([a_sender(0).page(), resolved.page()])
    found = [dict(labels)["tp_rank"] for (name, labels) in series(page) if name == "pd_resolved_replica_factor"]
    assert found == ["1"]


def test_no_rank_that_answers_makes_an_empty_page() -> None:
    assert merge([]) == ""


def test_a_transfer_that_took_no_time_has_no_speed_and_crashes_nobody() -> None:
    metrics = a_sender()
    metrics.transferred(TransferMetric(logical_bytes=100, reported_bytes=400, seconds=0.0))
    read = sums(metrics.page())
    assert (read["kv_transfer_speed_gb_s_count"], read["pd_kv_transfers_total"]) == (0, 1)
