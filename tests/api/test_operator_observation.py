"""From what workers serve to what the conditions say, over a real API server and real scrapes."""

import time
from collections.abc import Iterator

import pytest

from tests.support.apiserver import Apiserver
from tests.support.operator import Operator, eventually, running_operator, throughout
from tests.support.place import Place, make_place
from tests.support.worker_double import MIB, Double, report_running, running_double

pytestmark = pytest.mark.slow

VERIFIED = "ReplicaFactorVerified"


@pytest.fixture(scope="module")
def prefill() -> Iterator[Double]:
    with running_double("prefill") as double:
        yield double


@pytest.fixture(scope="module")
def decode() -> Iterator[Double]:
    with running_double("decode") as double:
        yield double


@pytest.fixture(scope="module")
def place(apiserver: Apiserver) -> Place:
    return make_place(apiserver, "observation")


@pytest.fixture(scope="module")
def operator(
    place: Place, prefill: Double, decode: Double, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """An operator, and the PDDeployment v2 (factor 2, read every 2 s) whose pods have come up without any traffic."""
    log = tmp_path_factory.mktemp("operator") / "log"
    move(prefill, decode, requests=0, factor=2)
    with running_operator(place.server.kubeconfig, log, namespace=place.namespace) as running:
        place.create("v2", verification={"interval": "1s"})
        place.complete("v2")
        eventually(lambda: place.get("pod", "v2-prefill-0") and place.get("pod", "v2-decode-0"), what="pods")
        report_running(place, "v2-prefill-0", prefill.address)
        report_running(place, "v2-decode-0", decode.address)
        router = place.kubectl("get", "pods", "-l", "pdoperator.io/role=router", "-o", "name").strip()
        report_running(place, router.removeprefix("pod/"), "127.0.0.1")
        yield running


def move(prefill: Double, decode: Double, *, requests: int, factor: int) -> None:
    """As many requests more, of 8 MiB each, reported with this factor; two copies arrive each time."""
    logical = requests * 8 * MIB
    prefill.count(
        pd_kv_transfers_total=requests,
        pd_kv_logical_bytes_total=logical,
        pd_kv_reported_bytes_total=logical * factor,
        pd_kv_transfer_busy_seconds_total=requests * 0.01,
    )
    decode.count(pd_kv_wire_bytes_total=logical * 2, pd_kv_pages_corrupt_total=0)


def scraped(*doubles: Double) -> None:
    """Until each has been read twice more, and no read is under way: what moves next is in one interval."""
    before = {double.address: double.scrapes for double in doubles}

    def read_and_at_rest() -> bool:
        ages = [time.monotonic() - double.scraped_at for double in doubles]
        return all(double.scrapes >= before[double.address] + 2 for double in doubles) and 0.2 < min(ages) < 0.7

    eventually(read_and_at_rest, what="two scrapes")


def message(place: Place, kind: str) -> str:
    conditions = place.get("pdd", "v2")["status"]["conditions"]
    return next(str(each["message"]) for each in conditions if each["type"] == kind)


@pytest.mark.usefixtures("operator")
def test_ready_without_traffic_and_the_factor_unknown(place: Place, prefill: Double, decode: Double) -> None:
    eventually(lambda: place.condition("v2", "Ready").startswith("True/"), what="ready")
    scraped(prefill, decode)
    assert place.condition("v2", VERIFIED).startswith("Unknown/")
    assert place.condition("v2", "MetricsAvailable").startswith("True/")
    assert place.get("pdd", "v2")["status"].get("observed", {}).get("replicaFactor") is None


def test_traffic_verifies_the_factor(place: Place, operator: Operator, prefill: Double, decode: Double) -> None:
    scraped(prefill, decode)
    for _ in range(10):
        move(prefill, decode, requests=20, factor=2)
        scraped(prefill, decode)
        if "Receivers count the same" in message(place, VERIFIED):  # said after some reads with traffic
            break
    assert place.condition("v2", VERIFIED).startswith("True/"), operator.story()
    eventually(lambda: place.get("pdd", "v2")["status"]["factor"] == "2", what="the printed factor")
    assert operator.metric("pd_observed_replica_factor", name="v2") == 2
    assert operator.metric("pd_expected_replica_factor", name="v2") == 2


@pytest.mark.case("E-12")
def test_a_steady_stream_of_slightly_different_figures_writes_nothing(
    place: Place, operator: Operator, prefill: Double, decode: Double
) -> None:
    before = place.get("pdd", "v2")
    writes = operator.writes()
    for requests in (20, 21, 20, 19, 20):
        move(prefill, decode, requests=requests, factor=2)
        scraped(prefill, decode)
    after = place.get("pdd", "v2")
    assert after["status"] == before["status"]
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert operator.writes() == writes


def test_a_factor_that_is_not_applied_is_told_and_ready_is_unharmed(
    place: Place, operator: Operator, prefill: Double, decode: Double
) -> None:
    for _ in range(30):
        move(prefill, decode, requests=50, factor=1)
        scraped(prefill, decode)
        if place.condition("v2", VERIFIED).startswith("False/"):
            break
    assert place.condition("v2", VERIFIED).startswith("False/"), operator.story()
    conditions = {each["type"]: each for each in place.get("pdd", "v2")["status"]["conditions"]}
    assert "1" in conditions[VERIFIED]["message"]
    assert "2" in conditions[VERIFIED]["message"]
    assert conditions["Degraded"]["status"] == "True"
    assert conditions["Ready"]["status"] == "True"
    events = place.kubectl("get", "events.events.k8s.io", "-o", "jsonpath={.items[*].note}")
    assert f"{VERIFIED} is False" in events


def test_at_rest_scrapes_go_on_and_writes_do_not(operator: Operator, prefill: Double, decode: Double) -> None:
    scraped(prefill, decode)
    pages = operator.metric("pd_operator_scrapes_total", result="page")
    throughout(operator.writes, seconds=4)
    assert operator.metric("pd_operator_scrapes_total", result="page") > pages
