"""Transport, pairing, metrics and bandwidth, each from the pages alone."""

from collections.abc import Sequence

import pytest

from pdoperator.api.conditions import Reason, Status
from pdoperator.topology.role import Role
from pdoperator.verify.expectation import Expectation
from pdoperator.verify.samples import Reading
from pdoperator.verify.verdict import Memory, Verdicts, advance
from tests.support.pages import MIB, decode, expecting, gap, page, pod, prefill

TCP, RDMA = ("Mooncake", "TCP"), ("Mooncake", "RDMA")
Observations = Sequence[Sequence[Reading]]


def watched(observations: Observations, expectation: Expectation | None = None) -> Verdicts:
    memory: Memory | None = None
    for readings in observations:
        memory = advance(memory, readings, expectation or expecting())
    assert memory is not None
    return memory.verdicts


@pytest.mark.parametrize(
    ("asked", "used", "status", "reason"),
    [
        pytest.param("TCP", [TCP, TCP], "True", "TransportInUse", id="TCP asked, TCP used"),
        pytest.param("RDMA", [RDMA, RDMA], "True", "TransportInUse", id="RDMA asked, RDMA used"),
        pytest.param("Auto", [RDMA, RDMA], "True", "TransportInUse", id="Auto with RDMA is as asked"),
        pytest.param("RDMA", [RDMA, TCP], "False", "RDMADeviceNotFound", id="one worker fell back in silence"),
        pytest.param("Auto", [RDMA, TCP], "True", "FellBackToTCP", id="Auto fell back on one worker"),
        pytest.param("TCP", [TCP, RDMA], "False", "UnexpectedTransport", id="TCP asked, RDMA used"),
        pytest.param("TCP", [("NIXL", "TCP"), TCP], "False", "UnexpectedTransport", id="another backend"),
        pytest.param("TCP", [None, None], "Unknown", "NotObserved", id="no worker says"),
        pytest.param("TCP", [TCP, None], "True", "TransportInUse", id="one worker doesn't say yet"),
    ],
)
def test_transport(asked: str, used: Sequence[tuple[str, str] | None], status: str, reason: str) -> None:
    pages = [prefill(0, transport=used[0]), decode(0, transport=used[1])]
    found = watched([pages], expecting(transport=asked)).transport
    assert (found.status.value, found.reason.value) == (status, reason)


def test_the_silent_fallback_names_pod_and_node() -> None:
    pages = [decode(0, ref=pod("v2-decode-0", node="gpu-7"))]
    assert "v2-decode-0 (node gpu-7)" in watched([pages], expecting(transport="RDMA")).transport.message


def test_an_unexpected_transport_names_both() -> None:
    message = watched([[decode(0, transport=("NIXL", "UCX"))]]).transport.message
    assert "Mooncake over TCP was asked for, NIXL over UCX is in use on v2-decode-0" in message


IDLE: Sequence[Reading] = [prefill(0), decode(0)]


def sends(*totals: tuple[int, int]) -> Observations:
    """An idle look, then one for each (transfers, failures) of the sender since its start."""

    def look(at: int, done: int, bad: int) -> Sequence[Reading]:
        return [prefill(at, transfers=done, failures={"Timeout": bad}), decode(at)]

    return [IDLE, *(look(15 * n, *total) for n, total in enumerate(totals, start=1))]


@pytest.mark.parametrize(
    ("observations", "status", "reason"),
    [
        pytest.param([IDLE], "Unknown", "NoTraffic", id="ready pods alone prove nothing"),
        pytest.param([[gap(0)]], "Unknown", "NotObserved", id="nothing read"),
        pytest.param(sends((1, 0)), "True", "TransfersSucceed", id="one transfer"),
        pytest.param(sends((0, 1)), "False", "TransfersFailing", id="the first one fails"),
        pytest.param(sends((9, 1)), "True", "TransfersSucceed", id="one of ten fails"),
        pytest.param(sends((1, 9)), "False", "TransfersFailing", id="nine of ten fail"),
        pytest.param(sends((2, 0), (2, 2)), "True", "TransfersSucceed", id="two failures after a success are no news"),
        pytest.param(sends((2, 0), (2, 3)), "False", "TransfersFailing", id="three are"),
        pytest.param(sends((2, 0), (2, 2), (2, 4)), "False", "TransfersFailing", id="so are two and two"),
        pytest.param(sends((0, 9), (1, 9)), "True", "TransfersSucceed", id="a success clears it"),
        pytest.param(
            [IDLE, [prefill(15, transfers=9), decode(15, failures={"Corrupt": 1}, corrupt=1, wire=1)]],
            "False",
            "TransfersFailing",
            id="corrupt pages at a receiver",
        ),
    ],
)
def test_pairing(observations: Observations, status: str, reason: str) -> None:
    found = watched(observations).pairing
    assert (found.status.value, found.reason.value) == (status, reason)


def test_one_bad_pod_among_good_ones_is_named_with_its_reasons() -> None:
    good, bad = pod("v2-prefill-0"), pod("v2-prefill-1")
    after = [prefill(15, ref=good, transfers=50), prefill(15, ref=bad, failures={"PeerDead": 4, "Timeout": 2})]
    message = watched([[prefill(0, ref=good), prefill(0, ref=bad)], after]).pairing.message
    assert "transfers of v2-prefill-1 fail, by the workers' own reason: PeerDead, Timeout" in message


def test_a_failing_verdict_stands_while_nothing_moves() -> None:
    failing = [IDLE, [prefill(15, failures={"Timeout": 1})]]
    assert watched([*failing, [prefill(30, failures={"Timeout": 1})]]).pairing == watched(failing).pairing


def test_a_failing_verdict_stands_when_the_pod_is_replaced_until_it_is_put_to_use() -> None:
    cured = pod("v2-prefill-0", uid="another")
    failing = [IDLE, [prefill(15, failures={"Timeout": 1}), decode(15)], [prefill(30, ref=cured), decode(30)]]
    assert watched(failing).pairing.reason is Reason.TRANSFERS_FAILING
    used = [*failing, [prefill(45, ref=cured, transfers=1), decode(45, wire=1)]]
    assert watched(used).pairing.reason is Reason.TRANSFERS_SUCCEED


HALF: Sequence[Reading] = [gap(15), decode(15)]
UNREAD: Observations = [IDLE, HALF, [gap(30), decode(30)]]
ZERO = "sglang:kv_transfer_total_mb_sum 0\nsglang:kv_transfer_total_mb_count 0"


def blanks(looks: int) -> Observations:
    """A page without any series of the contract, again and again."""
    return [[page(15 * n, "go_goroutines 7")] for n in range(1, looks + 1)]


def arrivals(looks: int) -> Observations:
    """Bytes arrive at the receiver, and no sender counts any."""
    return [IDLE, *([prefill(15 * n), decode(15 * n, wire=n)] for n in range(1, looks + 1))]


@pytest.mark.parametrize(
    ("observations", "status", "reason"),
    [
        pytest.param([[]], "Unknown", "NoWorkers", id="no pods"),
        pytest.param([IDLE], "True", "Scraped", id="every page read"),
        pytest.param([[prefill(0), gap(0, ref=pod("v2-decode-0"))]], "Unknown", "NotObserved", id="a gap at first"),
        pytest.param([IDLE, HALF], "True", "Scraped", id="one gap is no news"),
        pytest.param(UNREAD, "False", "ScrapeFailed", id="two gaps are"),
        pytest.param([*UNREAD, [prefill(45), decode(45)]], "True", "Scraped", id="it clears"),
        pytest.param(blanks(3), "Unknown", "NotObserved", id="ranks that aren't up yet"),
        pytest.param(blanks(4), "False", "SeriesMissing", id="a page of something else"),
        pytest.param([*blanks(4), [prefill(75)]], "True", "Scraped", id="ranks that took long"),
        pytest.param([[page(0, "kv_transfer_total_mb 1098.0")]], "False", "UnsupportedType", id="the old gauge"),
        pytest.param([[page(0, ZERO)]], "True", "Scraped", id="zero without traffic is no fault"),
        pytest.param([IDLE, [prefill(15, transfers=150)]], "False", "NotReported", id="nobody writes the bytes"),
        pytest.param(arrivals(3), "False", "NotReported", id="bytes arrive that no sender reports"),
        pytest.param(arrivals(2), "True", "Scraped", id="not three times yet"),
    ],
)
def test_metrics(observations: Observations, status: str, reason: str) -> None:
    found = watched(observations).metrics
    assert (found.status.value, found.reason.value) == (status, reason)


def test_a_failed_read_names_pod_and_reason() -> None:
    message = watched([[gap(0), decode(0)], [gap(15), decode(15)]]).metrics.message
    assert "v2-prefill-0 (Timeout)" in message


def test_a_page_without_the_series_leaves_the_factor_unknown() -> None:
    verdicts = watched([[page(0, "x 1", role=Role.PREFILL)], [page(15, "x 2", role=Role.PREFILL)]])
    assert (verdicts.factor.status, verdicts.pairing.status) == (Status.UNKNOWN, Status.UNKNOWN)


def test_bandwidth_is_the_wires_bytes_while_senders_are_busy() -> None:
    verdicts = watched([IDLE, [prefill(15, transfers=4, logical=486, reported=486, busy=0.8), decode(15, wire=1944)]])
    assert verdicts.bandwidth_bytes_per_second == 1944 * MIB * 10 // 8
    assert verdicts.factor.reason is Reason.FACTOR_NOT_APPLIED  # and the wrong metric doesn't make the link look slow


@pytest.mark.case("A-01")
@pytest.mark.parametrize(
    "reported", [pytest.param(274.5, id="10.72 GiB/s by the metric"), pytest.param(1098.0, id="42.89 by the metric")]
)
def test_a_request_of_25_ms_is_as_fast_whatever_the_metric_counts(reported: float) -> None:
    """The link isn't called slow by a metric that counts one copy of four: receivers count the bytes."""
    moved = [prefill(15, transfers=1, logical=274.5, reported=reported, busy=0.025), decode(15, wire=1098.0)]
    assert watched([IDLE, moved]).bandwidth_bytes_per_second == 46_053_457_920  # 42.89 GiB/s


def test_bandwidth_is_unknown_without_traffic() -> None:
    assert watched([IDLE, IDLE]).bandwidth_bytes_per_second is None


def test_bandwidth_stands_while_it_is_nearly_right() -> None:
    first = [prefill(15, transfers=1, logical=10, busy=1), decode(15, wire=40)]
    nearly = [prefill(30, transfers=2, logical=20, busy=1.9), decode(30, wire=80)]
    faster = [prefill(45, transfers=9, logical=90, busy=2.9), decode(45, wire=400)]
    assert watched([IDLE, first, nearly]).bandwidth_bytes_per_second == 40 * MIB
    assert watched([IDLE, first, nearly, faster]).bandwidth_bytes_per_second == 400 * MIB * 10 // 29
