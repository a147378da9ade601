"""Public reports that take real pods to answer. docs/reference/cases.md says what each is about."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pdcluster.images import Images
from pddemo.install import RELEASE, SYSTEM_NAMESPACE, install_chart
from pddemo.kubernetes import CommandError, condition, until
from tests.cluster.conftest import Place
from tests.support.expect import becomes, create, ready
from tests.support.pddeployments import small

pytestmark = pytest.mark.cluster

GONE_SECONDS = 60  # what the reports allow
READINESS_SECONDS = 90  # a probe's patience, with a margin for two cores
USERS = (
    {"name": "B", "value": "first"},
    {"name": "C", "value": "second"},
    {"name": "A", "value": "$(B).$(C)"},
    {"name": "MC_GID_INDEX", "value": "5"},
    {"name": "UCX_TLS", "value": "rc"},
)
NEVER_STARTS = {"name": "PD_POOL_TOKENS", "value": "many"}

# Run inside a prefill pod: send one rank process a signal.
SIGNAL_A_RANK = """
import os, pathlib, signal
for process in pathlib.Path('/proc').iterdir():
    if process.name.isdigit():
        words = (process / 'cmdline').read_bytes().split(b'\\0')
        if b'rank' in words and words[words.index(b'rank') + 1] == b'1':
            os.kill(int(process.name), signal.NAME)
            print(process.name)
"""
ASK = """
import urllib.request
query = 'prefill_dp_rank=0&prefill_cp_rank=0&target_tp_rank=0&target_pp_rank=0'
print(urllib.request.urlopen('http://HOST:8998/route?' + query, timeout=5).read().decode())
"""


@pytest.fixture(scope="module")
def deployed(place: Place) -> Place:
    """One prefill and two decode replicas, in use by nobody yet."""
    decode = {"replicas": 2, "parallelism": {"tensor": 2}}
    create(place.cluster, small("pair", env=USERS, decode=decode), namespace=place.namespace)
    ready(place.cluster, "pair", namespace=place.namespace)
    until("both decode replicas", lambda: _ready_replicas(place, "decode") == 2, seconds=READINESS_SECONDS)
    return place


@pytest.fixture
def reinstalled(place: Place, images: Images) -> Iterator[Place]:
    """For tests that take the operator away."""
    yield place
    install_chart(place.cluster, images)


@pytest.mark.case("C-11")
@pytest.mark.case("B-22")
def test_workers_that_never_start_have_names_and_are_counted_ready_nowhere(place: Place) -> None:
    create(place.cluster, small("stuck", env=(NEVER_STARTS,)), namespace=place.namespace)
    router = until("a ready router", lambda: _router(place, "stuck"), seconds=120)
    for pod in ("stuck-prefill-0", "stuck-decode-0"):
        address = until("an address", lambda pod=pod: _pod(place, pod)["status"].get("podIP"), seconds=60)  # type: ignore[misc]
        service = pod.removesuffix("-0")
        name = f"{pod}.{service}.{place.namespace}.svc"
        looked_up = until("a name", lambda name=name: _look_up(place, router, name), seconds=60)  # type: ignore[misc]
        assert looked_up == address
    pdd = becomes(place.cluster, "stuck", namespace=place.namespace, Ready="False", Available="False")
    assert (pdd["status"]["prefill"]["summary"], pdd["status"]["decode"]["summary"]) == ("0/1", "0/1")
    assert condition(pdd, "PairingHealthy")["status"] == "Unknown"
    assert _served(place, "stuck-router") == [_pod(place, router)["status"]["podIP"]]
    place.cluster.kubectl("delete", "pdd", "stuck", "-n", place.namespace)


@pytest.mark.case("C-11")
def test_ready_pods_alone_never_say_that_pairs_work(deployed: Place) -> None:
    pdd = becomes(deployed.cluster, "pair", namespace=deployed.namespace, Ready="True", PairingHealthy="Unknown")
    assert condition(pdd, "PairingHealthy")["reason"] == "NoTraffic"


@pytest.mark.case("B-15")
def test_each_worker_advertises_the_address_of_its_own_pod(deployed: Place) -> None:
    addresses = {
        pod: _pod(deployed, pod)["status"]["podIP"] for pod in ("pair-prefill-0", "pair-decode-0", "pair-decode-1")
    }
    assert len(set(addresses.values())) == 3
    for pod, address in addresses.items():
        assert _environment(deployed, pod)["POD_IP"] == address
    ask = ASK.replace("HOST", addresses["pair-prefill-0"])
    told = json.loads(_python(deployed, "deploy/pair-router", ask))
    assert told["rank_ip"] == addresses["pair-prefill-0"]


@pytest.mark.case("E-15")
def test_the_users_variables_expand_and_win_in_the_real_pod(deployed: Place) -> None:
    env = _environment(deployed, "pair-prefill-0")
    assert (env["A"], env["MC_GID_INDEX"], env["UCX_TLS"]) == ("first.second", "5", "rc")
    assert env["PD_EXPECTED_REPLICA_FACTOR"] == "2"


@pytest.mark.case("C-06")
@pytest.mark.case("C-11")
def test_one_rank_of_two_that_hangs_takes_the_replica_out_until_it_goes_on(deployed: Place) -> None:
    before = _restarts(deployed)
    assert _python(deployed, "pair-prefill-0", SIGNAL_A_RANK.replace("NAME", "SIGSTOP")).strip()
    try:
        until("prefill not ready", lambda: _ready_replicas(deployed, "prefill") == 0, seconds=READINESS_SECONDS)
        pdd = becomes(deployed.cluster, "pair", namespace=deployed.namespace, Ready="False", Available="False")
        assert pdd["status"]["prefill"]["summary"] == "0/1"
    finally:
        _python(deployed, "pair-prefill-0", SIGNAL_A_RANK.replace("NAME", "SIGCONT"))
    until("prefill ready again", lambda: _ready_replicas(deployed, "prefill") == 1, seconds=READINESS_SECONDS)
    assert _restarts(deployed) == before


@pytest.mark.case("E-16")
def test_a_deletion_leaves_nothing_of_any_kind(deployed: Place) -> None:
    kinds = _every_kind(deployed)
    found = _labelled(deployed, "pair", kinds)
    assert {"Pod", "StatefulSet", "Service", "NetworkPolicy", "PodDisruptionBudget"} <= {each["kind"] for each in found}
    # Kubernetes writes Endpoints for a Service, without an owner, and removes them with it.
    for each in (each for each in found if each["kind"] != "Endpoints"):
        owners = each["metadata"].get("ownerReferences", [])
        assert [owner.get("controller") for owner in owners] == [True], (each["kind"], each["metadata"]["name"])
    deployed.cluster.kubectl("delete", "pdd", "pair", "-n", deployed.namespace, "--timeout=60s", timeout=90)
    until("nothing left", lambda: not _labelled(deployed, "pair", kinds), seconds=GONE_SECONDS)


@pytest.mark.case("E-06")
@pytest.mark.case("E-16")
def test_what_an_uninstalled_operator_leaves_is_deleted_without_it(reinstalled: Place) -> None:
    place = reinstalled
    create(place.cluster, small("left"), namespace=place.namespace)
    kinds = _every_kind(place)
    until("children", lambda: len(_labelled(place, "left", kinds)) >= 11, seconds=30)
    place.cluster.helm("uninstall", RELEASE, "--namespace", SYSTEM_NAMESPACE)
    place.cluster.kubectl("wait", "--for=delete", f"deployment/{RELEASE}", "-n", SYSTEM_NAMESPACE, "--timeout=60s")
    place.cluster.kubectl("delete", "pdd", "left", "-n", place.namespace, "--timeout=60s", timeout=90)
    until("nothing left", lambda: not _labelled(place, "left", kinds), seconds=GONE_SECONDS)


@pytest.mark.case("E-06")
def test_a_namespace_that_holds_the_operator_and_a_pddeployment_goes(reinstalled: Place) -> None:
    system = Place(cluster=reinstalled.cluster, namespace=SYSTEM_NAMESPACE)
    create(system.cluster, small("beside"), namespace=SYSTEM_NAMESPACE)
    until("children", lambda: len(_labelled(system, "beside", "statefulset,service")) >= 5, seconds=30)
    system.cluster.kubectl("delete", "namespace", SYSTEM_NAMESPACE, "--timeout=60s", timeout=90)
    with pytest.raises(CommandError, match="NotFound"):
        system.cluster.kubectl("get", "namespace", SYSTEM_NAMESPACE)


def _pod(place: Place, name: str) -> dict[str, Any]:
    return place.cluster.get("pod", name, namespace=place.namespace)


def _router(place: Place, name: str) -> str | None:
    """The name of the PDDeployment's router pod, once it is ready."""
    pods = place.cluster.items(
        "pods", namespace=place.namespace, selector=f"pdoperator.io/deployment={name},pdoperator.io/role=router"
    )
    found = [pod["metadata"]["name"] for pod in pods if _is_ready(pod)]
    return found[0] if found else None


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _ready_replicas(place: Place, role: str) -> int:
    status = place.cluster.get("pdd", "pair", namespace=place.namespace)["status"]
    return int(status[role]["readyReplicas"])


def _restarts(place: Place) -> dict[str, int]:
    pods = place.cluster.items("pods", namespace=place.namespace, selector="pdoperator.io/deployment=pair")
    return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods}


def _python(place: Place, pod: str, program: str) -> str:
    return place.cluster.kubectl("exec", "-n", place.namespace, pod, "--", "python3", "-c", program)


def _look_up(place: Place, pod: str, name: str) -> str:
    """What a name resolves to in a pod. Raises CommandError while it doesn't."""
    return _python(place, pod, f"import socket; print(socket.gethostbyname('{name}'))").strip()


def _environment(place: Place, pod: str) -> dict[str, str]:
    printed = place.cluster.kubectl("exec", "-n", place.namespace, pod, "--", "env")
    return dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)


def _served(place: Place, service: str) -> Sequence[str]:
    """The addresses to which a Service sends requests."""
    slices = place.cluster.items(
        "endpointslices", namespace=place.namespace, selector=f"kubernetes.io/service-name={service}"
    )
    endpoints = [each for found in slices for each in found.get("endpoints") or ()]
    return [address for each in endpoints if each["conditions"]["ready"] for address in each["addresses"]]


def _every_kind(place: Place) -> str:
    """Every kind of the cluster that lives in namespaces and can be listed, comma between."""
    names = place.cluster.kubectl("api-resources", "--namespaced", "--verbs=list,delete", "-o", "name")
    return ",".join(names.split())


def _labelled(place: Place, name: str, kinds: str) -> list[dict[str, Any]]:
    return place.cluster.items(kinds, namespace=place.namespace, selector=f"pdoperator.io/deployment={name}")
