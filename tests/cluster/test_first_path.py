"""The first whole path: a PDDeployment moves real KV, and its conditions say what was seen."""

import json

import pytest
import yaml

from pddemo.install import ROOT, send_requests
from pddemo.kubernetes import condition, until
from tests.cluster.conftest import Place
from tests.support.expect import becomes, ready

pytestmark = pytest.mark.cluster

NAME = "mla-cp4-tp4"
LOGICAL_BYTES = 1024 * 31_104  # 1,024 tokens of DeepSeek-V2-Lite: 27 layers x (512 + 64) x 2 bytes each


@pytest.fixture(scope="module")
def deployed(place: Place) -> Place:
    place.cluster.kubectl("apply", "-n", place.namespace, "-f", str(ROOT / "examples" / f"{NAME}.yaml"))
    ready(place.cluster, NAME, namespace=place.namespace)
    return place


@pytest.mark.case("C-11")
def test_ready_pods_alone_verify_nothing(deployed: Place) -> None:
    pdd = becomes(
        deployed.cluster, NAME, namespace=deployed.namespace,
        Ready="True", ReplicaFactorVerified="Unknown/NoTraffic", BandwidthSLOMet="Unknown",
    )  # fmt: skip
    assert condition(pdd, "PairingHealthy")["status"] == "Unknown"
    assert pdd["status"]["topology"]["expectedReplicaFactor"] == 4
    assert "replicaFactor" not in pdd["status"].get("observed", {})


@pytest.mark.case("A-01")
@pytest.mark.case("B-15")
def test_every_worker_was_told_the_factor_and_its_own_address(deployed: Place) -> None:
    for pod in ("mla-cp4-tp4-prefill-0", "mla-cp4-tp4-decode-0"):
        printed = deployed.cluster.kubectl("exec", "-n", deployed.namespace, pod, "--", "env")
        env = dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
        status = deployed.cluster.get("pod", pod, namespace=deployed.namespace)["status"]
        assert env["PD_EXPECTED_REPLICA_FACTOR"] == "4"
        assert env["POD_IP"] == status["podIP"]


@pytest.mark.case("B-22")
def test_a_pod_is_found_by_name_through_its_headless_service(deployed: Place) -> None:
    name = f"{NAME}-decode-0.{NAME}-decode.{deployed.namespace}.svc.cluster.local"
    found = deployed.cluster.kubectl(
        "exec", "-n", deployed.namespace, f"{NAME}-prefill-0", "--", "python3", "-c",
        f"import socket; print(socket.gethostbyname('{name}'))",
    )  # fmt: skip
    status = deployed.cluster.get("pod", f"{NAME}-decode-0", namespace=deployed.namespace)["status"]
    assert found.strip() == status["podIP"]


@pytest.mark.case("A-01")
def test_requests_move_four_copies_and_the_factor_is_verified(deployed: Place) -> None:
    sent = send_requests(deployed.cluster, NAME, namespace=deployed.namespace, requests=8, prompt_tokens=1024)
    assert sent["requests"] == 8
    assert sent["failures"] == 0
    assert sent["logical_bytes"] == 8 * LOGICAL_BYTES
    assert sent["wire_bytes"] == 4 * 8 * LOGICAL_BYTES
    pdd = becomes(
        deployed.cluster, NAME, namespace=deployed.namespace,
        Ready="True", ReplicaFactorVerified="True", PairingHealthy="True", Degraded="False",
    )  # fmt: skip
    assert pdd["status"]["observed"]["replicaFactor"] == "4"
    assert pdd["status"]["factor"] == "4"

    def bandwidth() -> str:
        """It may come a scrape later: it needs the receivers' bytes and the senders' seconds of the same requests."""
        status = deployed.cluster.get("pdd", NAME, namespace=deployed.namespace)["status"]
        return str(status["observed"].get("bandwidth", ""))

    assert until("a measured bandwidth", bandwidth, seconds=30).endswith("B/s")


def test_the_printer_columns_show_it(deployed: Place) -> None:
    printed = deployed.cluster.kubectl("get", "pdd", NAME, "-n", deployed.namespace)
    header, row = printed.splitlines()
    assert header.split() == ["NAME", "READY", "P", "D", "FACTOR", "BACKEND", "TRANSPORT", "BANDWIDTH", "SLO", "AGE"]
    assert row.split()[:7] == [NAME, "True", "1/1", "1/1", "4", "Mooncake", "TCP"]


def test_a_second_apply_changes_nothing(deployed: Place) -> None:
    before = _versions(deployed)
    deployed.cluster.kubectl("apply", "-n", deployed.namespace, "-f", str(ROOT / "examples" / f"{NAME}.yaml"))
    assert _versions(deployed) == before


def test_a_refused_update_leaves_the_running_pods(deployed: Place) -> None:
    before = _versions(deployed)
    patch = json.dumps({"spec": {"prefill": {"parallelism": {"context": 3}}}})
    with pytest.raises(Exception, match="tensor 4 is not a multiple of context 3"):
        deployed.cluster.kubectl("patch", "pdd", NAME, "-n", deployed.namespace, "--type=merge", "-p", patch)
    assert _versions(deployed) == before


@pytest.mark.case("A-01")
def test_legacy_accounting_is_found_out_and_traffic_goes_on(place: Place) -> None:
    example = yaml.safe_load((ROOT / "examples" / "legacy-accounting.yaml").read_text())
    name = example["metadata"]["name"]
    place.cluster.apply(json.dumps(example), namespace=place.namespace)
    ready(place.cluster, name, namespace=place.namespace)
    becomes(place.cluster, name, namespace=place.namespace, ReplicaFactorVerified="Unknown/NoTraffic")
    sent = send_requests(place.cluster, name, namespace=place.namespace, requests=8, prompt_tokens=1024)
    assert sent["failures"] == 0
    pdd = becomes(
        place.cluster, name, namespace=place.namespace,
        ReplicaFactorVerified="False/FactorNotApplied", Ready="True", Degraded="True/FactorNotApplied",
    )  # fmt: skip
    message = condition(pdd, "ReplicaFactorVerified")["message"]
    assert "observed 1" in message
    assert "expected 4" in message
    assert pdd["status"]["factor"] == "1/4"
    assert condition(pdd, "Available")["status"] == "True"


def _versions(place: Place) -> dict[str, str]:
    """Resource version of the PDDeployment and all its children, by kind and name."""
    kinds = "pdd,statefulset,deployment,service,serviceaccount,networkpolicy,poddisruptionbudget,pod"
    selector = f"pdoperator.io/deployment={NAME}"
    found = place.cluster.items(kinds.removeprefix("pdd,"), namespace=place.namespace, selector=selector)
    found.append(place.cluster.get("pdd", NAME, namespace=place.namespace))
    return {f"{o['kind']}/{o['metadata']['name']}": o["metadata"]["resourceVersion"] for o in found}
