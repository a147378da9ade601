"""The whole status from values: what it says, and that it says it once."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdoperator.api.conditions import STATES, ConditionType, Reason, Status
from pdoperator.api.enums import Attention, KvCacheDtype
from pdoperator.api.errors import Bug, Conflict, Failure, Invalid, Transient, Unsupported
from pdoperator.api.status import PDDeploymentStatus
from pdoperator.live.state import Live
from pdoperator.status.compute import changed, compute
from pdoperator.topology.parallelism import Parallelism
from pdoperator.topology.resolve import Topology, resolve
from pdoperator.topology.traffic import MlaGeometry
from pdoperator.verify.samples import Reading
from pdoperator.verify.verdict import Memory, Verdicts, advance, disabled
from tests.support.live import ALL_THERE, ALL_UP, live, pod_object, workload_object
from tests.support.pages import decode, expecting, prefill

NOW, LATER = "2026-12-01T04:00:00Z", "2026-12-01T04:05:00Z"
TOPOLOGY = resolve(
    prefill=Parallelism(tensor=4, context=4),
    decode=Parallelism(tensor=4),
    attention=Attention.MLA,
    geometry=MlaGeometry(layers=61, kv_lora_rank=512, qk_rope_head_dim=64),
    page_size=64,
    dtype=KvCacheDtype.BFLOAT16,
)
BEFORE = [prefill(0), decode(0)]
AFTER = [prefill(15, transfers=1, logical=274.5, reported=1098.0, busy=0.5), decode(15, wire=1098.0)]

IDLE = [prefill(30, transfers=1, logical=274.5, reported=1098.0, busy=0.5), decode(30, wire=1098.0)]


def observed(*observations: Sequence[Reading], generation: int = 1, transport: str = "TCP") -> Memory:
    memory: Memory | None = None
    for readings in observations or (BEFORE, AFTER):
        memory = advance(memory, readings, expecting(generation=generation, transport=transport))
    assert memory is not None
    return memory


def computed(
    state: Live,
    verdicts: Verdicts | None = None,
    *,
    now: str = NOW,
    invalid: Invalid | None = None,
    failure: Failure | None = None,
) -> dict[str, Any]:
    assert isinstance(TOPOLOGY, Topology)
    topology = None if invalid else TOPOLOGY
    return compute(live=state, topology=topology, invalid=invalid, failure=failure, verdicts=verdicts, now=now)


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = (each for each in status["conditions"] if each["type"] == kind)
    return dict(found)


def says(status: dict[str, Any], kind: str) -> str:
    found = condition(status, kind)
    return f"{found['status']}/{found['reason']}"


def test_a_deployment_that_does_what_it_should() -> None:
    status = computed(live(), observed().verdicts)
    assert {each["type"]: f"{each['status']}/{each['reason']}" for each in status["conditions"]} == {
        "Ready": "True/AllReady",
        "Degraded": "False/AsExpected",
        "TopologyValid": "True/Valid",
        "Available": "True/PairRoutable",
        "Progressing": "False/UpToDate",
        "TransportReady": "True/TransportInUse",
        "PairingHealthy": "True/TransfersSucceed",
        "ReplicaFactorVerified": "True/FactorMatches",
        "MetricsAvailable": "True/Scraped",
        "BandwidthSLOMet": "Unknown/NotConfigured",
    }
    assert "expected 4, observed 4" in condition(status, "ReplicaFactorVerified")["message"]
    assert status["observed"] == {"replicaFactor": "4", "bandwidth": "2.3 GB/s"}
    assert (status["factor"], status["bandwidth"], status["slo"]) == ("4", "2.3 GB/s", "")
    assert status["prefill"] == {
        "replicas": 1,
        "readyReplicas": 1,
        "selector": "pdoperator.io/deployment=v2,pdoperator.io/role=prefill",
        "summary": "1/1",
    }
    assert (status["observedGeneration"], status["topology"]["expectedReplicaFactor"]) == (1, 4)


@pytest.mark.case("E-08")
def test_the_schema_keeps_all_of_it() -> None:
    status = computed(live(), observed().verdicts)
    stored = PDDeploymentStatus.model_validate_json(json.dumps(status))
    assert json.loads(stored.model_dump_json(by_alias=True, exclude_none=True)) == status


def test_before_anything_was_read_ready_waits() -> None:
    status = computed(live())
    assert says(status, "Ready") == "Unknown/NotObserved"
    assert says(status, "PairingHealthy") == "Unknown/NotObserved"
    assert status["factor"] == "4"
    assert "observed" not in status


@pytest.mark.case("C-11")
def test_ready_pods_alone_verify_nothing() -> None:
    status = computed(live(), observed(BEFORE).verdicts)
    assert says(status, "Ready") == "True/AllReady"
    assert says(status, "PairingHealthy") == "Unknown/NoTraffic"
    assert says(status, "ReplicaFactorVerified") == "Unknown/NoTraffic"
    assert says(status, "Degraded") == "False/AsExpected"


@pytest.mark.case("A-15")
def test_requests_from_before_the_factor_was_known_alarm_nobody() -> None:
    warmed_up = [prefill(0, transfers=2, logical=549.0, reported=549.0), decode(0)]
    status = computed(live(), observed(warmed_up).verdicts)
    assert says(status, "ReplicaFactorVerified") == "Unknown/WarmingUp"
    assert (says(status, "Ready"), says(status, "Degraded")) == ("True/AllReady", "False/AsExpected")
    assert status["factor"] == "4"


@pytest.mark.case("C-11")
@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_a_role_whose_ranks_are_not_all_up_counts_no_ready_replica(role: str) -> None:
    """A replica is one pod, which is ready once every rank in it is; so no follower can be ready before its leader."""
    pods = tuple(pod_object(each, ready=each != role) for each in ("router", "prefill", "decode"))
    status = computed(live(pods=pods), observed(BEFORE).verdicts)
    assert (status[role]["readyReplicas"], status[role]["summary"]) == (0, "0/1")
    assert says(status, "Ready").startswith("False/")
    assert says(status, "PairingHealthy") == "Unknown/NoTraffic"


def test_without_verification_the_pods_are_enough() -> None:
    status = computed(live(), disabled(expecting()))
    assert says(status, "Ready") == "True/AllReady"
    assert says(status, "TransportReady") == "Unknown/VerificationDisabled"


def test_a_wrong_metric_degrades_and_takes_no_traffic_away() -> None:
    one_copy = [prefill(15, transfers=1, logical=274.5, reported=274.5, busy=0.5), decode(15, wire=1098.0)]
    status = computed(live(), observed(BEFORE, one_copy).verdicts)
    assert says(status, "ReplicaFactorVerified") == "False/FactorNotApplied"
    assert "observed 1, expected 4" in condition(status, "ReplicaFactorVerified")["message"]
    assert says(status, "Ready") == "True/AllReady"
    assert says(status, "Degraded") == "True/FactorNotApplied"
    assert (status["factor"], status["observed"]["replicaFactor"]) == ("1/4", "1")


@pytest.mark.parametrize(
    ("asked", "ready", "transport", "degraded"),
    [
        pytest.param(
            "RDMA", "False/RDMADeviceNotFound", "False/RDMADeviceNotFound", "True/RDMADeviceNotFound", id="RDMA asked"
        ),
        pytest.param("TCP", "True/AllReady", "True/TransportInUse", "False/AsExpected", id="TCP asked"),
        pytest.param("Auto", "True/AllReady", "True/FellBackToTCP", "True/FellBackToTCP", id="Auto"),
    ],
)
def test_workers_without_an_rdma_device(asked: str, ready: str, transport: str, degraded: str) -> None:
    status = computed(live(), observed(BEFORE, transport=asked).verdicts)
    said = tuple(says(status, kind) for kind in ("Ready", "TransportReady", "Degraded"))
    assert said == (ready, transport, degraded)


UNPULLABLE = ("ErrImagePull", 'failed to pull "registry.invalid/x:1": lookup registry.invalid: no such host')


def decode_stuck(**pod: Any) -> Live:  # noqa: ANN401 -- whatever the pod builder takes
    return live(pods=(pod_object("router"), pod_object("prefill"), pod_object("decode", ready=False, **pod)))


class TestPods:
    def test_an_image_that_cannot_be_pulled(self) -> None:
        status = computed(decode_stuck(waiting=UNPULLABLE))
        assert says(status, "Ready") == "False/ImagePullFailed"
        assert says(status, "Progressing") == "False/ImagePullFailed"
        assert says(status, "Degraded") == "True/ImagePullFailed"
        message = condition(status, "Ready")["message"]
        assert message.startswith("decode: image registry.invalid/x:1 can't be pulled:")
        assert "no such host" in message
        assert status["prefill"]["summary"] == "1/1"

    def test_it_clears_itself(self) -> None:
        stuck = computed(decode_stuck(waiting=UNPULLABLE))
        cured = computed(live(status=stuck), observed().verdicts, now=LATER)
        assert (says(cured, "Ready"), says(cured, "Progressing")) == ("True/AllReady", "False/UpToDate")

    @pytest.mark.parametrize(
        "again",
        [
            pytest.param(
                ("ImagePullBackOff", f'Back-off pulling image "registry.invalid/x:1": ErrImagePull: {UNPULLABLE[1]}'),
                id="backing off",
            ),
            pytest.param(("ErrImagePull", f"  {UNPULLABLE[1]}\n"), id="white space"),
        ],
    )
    def test_the_kubelets_to_and_fro_is_one_message(self, again: tuple[str, str]) -> None:
        assert computed(decode_stuck(waiting=UNPULLABLE)) == computed(decode_stuck(waiting=again))

    def test_a_new_port_with_every_attempt_is_no_news(self) -> None:
        first, second = (f"read udp 10.244.0.9:{port}->10.96.0.10:53: i/o timeout" for port in (41234, 55555))
        states = [computed(decode_stuck(waiting=("ErrImagePull", text))) for text in (first, second)]
        assert states[0] == states[1]

    @pytest.mark.parametrize(
        ("pod", "reason", "words"),
        [
            pytest.param(
                {"waiting": ("CrashLoopBackOff", "back-off 5m0s restarting"), "last_exit": {"exitCode": 2}},
                "CrashLooping",
                "v2-decode-0 keeps exiting with exit code 2",
                id="crash loop",
            ),
            pytest.param({"restarts": 3}, "CrashLooping", "--previous", id="a crash loop while it runs"),
            pytest.param(
                {"waiting": ("CreateContainerConfigError", 'secret "x" not found')},
                "ContainerNotStarted",
                'secret "x" not found',
                id="a missing secret",
            ),
            pytest.param(
                {
                    "conditions": [
                        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
                    ]
                },
                "PodsUnschedulable",
                "decode: no node for v2-decode-0: 0/3 nodes",
                id="no node",
            ),
        ],
    )
    def test_what_is_in_the_way(self, pod: dict[str, Any], reason: str, words: str) -> None:
        status = computed(decode_stuck(**pod))
        assert says(status, "Ready") == f"False/{reason}"
        assert words in condition(status, "Progressing")["message"]

    def test_a_bad_pod_beside_a_good_one_degrades_only(self) -> None:
        bad = pod_object("decode", number=1, ready=False, waiting=UNPULLABLE)
        workloads = (workload_object("router"), workload_object("prefill"), workload_object("decode", replicas=2))
        status = computed(live(pods=(*ALL_UP, bad), workloads=workloads), observed().verdicts)
        assert (says(status, "Ready"), says(status, "Degraded")) == ("True/AllReady", "True/ImagePullFailed")

    def test_pods_that_only_carry_our_labels_count_for_nothing(self) -> None:
        foreign = pod_object("decode")
        foreign["metadata"]["ownerReferences"] = []
        status = computed(live(pods=(pod_object("router"), pod_object("prefill"), foreign)))
        assert says(status, "Available") == "False/NoDecode"


@pytest.mark.parametrize(
    ("state", "available", "progressing"),
    [
        pytest.param(live(pods=(), workloads=()), "False/NoPrefill", "True/Starting", id="nothing there yet"),
        pytest.param(live(pods=ALL_UP[1:]), "False/NoRouter", "True/Starting", id="no router"),
        pytest.param(live(pods=ALL_UP[:2]), "False/NoDecode", "True/Starting", id="no decode"),
        pytest.param(
            live(workloads=(*ALL_THERE[:2], workload_object("decode", replicas=2))),
            "True/PairRoutable",
            "True/Starting",
            id="a pod is missing",
        ),
        pytest.param(
            live(workloads=(*ALL_THERE[:2], workload_object("decode", updated=0))),
            "True/PairRoutable",
            "True/RollingOut",
            id="an old revision is left",
        ),
        pytest.param(
            live(workloads=(*ALL_THERE[:2], workload_object("decode", seen=0))),
            "True/PairRoutable",
            "True/RollingOut",
            id="a change nobody has seen",
        ),
        pytest.param(
            live(pods=ALL_UP[:2], workloads=(*ALL_THERE[:2], workload_object("decode", replicas=0))),
            "False/ScaledToZero",
            "False/UpToDate",
            id="asked to be none",
        ),
    ],
)
def test_comings_and_goings(state: Live, available: str, progressing: str) -> None:
    status = computed(state)
    assert (says(status, "Available"), says(status, "Progressing")) == (available, progressing)
    assert says(status, "Degraded") == "False/AsExpected"


@pytest.mark.parametrize(
    ("invalid", "reason"),
    [
        pytest.param(
            Invalid("spec.prefill", "tensor 8 is not a multiple of context 3"), "TopologyInvalid", id="invalid"
        ),
        pytest.param(Unsupported("spec.slo", "is not supported yet"), "UnsupportedField", id="unsupported"),
    ],
)
def test_an_invalid_spec_says_so_everywhere_and_stops_nothing(invalid: Invalid, reason: str) -> None:
    status = computed(live(), invalid=invalid)
    for kind in ("Ready", "TopologyValid", "Progressing"):
        assert says(status, kind) == f"False/{reason}"
        assert condition(status, kind)["message"].startswith(f"{invalid.field}: {invalid.message}")
    assert says(status, "Degraded") == f"True/{reason}"
    assert says(status, "Available") == "True/PairRoutable"
    assert "topology" not in status
    assert status["factor"] == ""


@pytest.mark.parametrize(
    ("failure", "progressing", "degraded"),
    [
        pytest.param(Transient("503"), "True/ApplyRetrying", "False/AsExpected", id="transient"),
        pytest.param(Conflict("409"), "True/ApplyRetrying", "False/AsExpected", id="conflict"),
        pytest.param(Bug("500: field not declared"), "False/ApplyFailed", "True/ApplyFailed", id="ours"),
        pytest.param(Invalid("spec.x", "is immutable"), "False/ApplyFailed", "True/ApplyFailed", id="refused"),
    ],
)
def test_a_failed_apply_still_reaches_the_status(failure: Failure, progressing: str, degraded: str) -> None:
    status = computed(live(), observed().verdicts, failure=failure)
    assert (says(status, "Progressing"), says(status, "Degraded")) == (progressing, degraded)
    assert says(status, "Ready") == "True/AllReady"


class TestAtRest:
    """Nothing is written twice, and no time moves without a flip."""

    @pytest.mark.case("E-12")
    def test_ten_times_the_same_is_the_same(self) -> None:
        status = computed(live(), observed().verdicts)
        for minute in range(10):
            again = computed(live(status=status), observed().verdicts, now=f"2026-12-01T05:{minute:02}:00Z")
            assert again == status
            assert not changed(status, again)

    @pytest.mark.case("E-12")
    def test_figures_that_move_a_little_are_the_same(self) -> None:
        status = computed(live(), observed().verdicts)
        nearly = [prefill(15, transfers=1, logical=274.5, reported=1098.4, busy=0.51), decode(15, wire=1098.4)]
        assert not changed(status, computed(live(status=status), observed(BEFORE, nearly).verdicts, now=LATER))

    @pytest.mark.case("E-12")
    def test_a_time_moves_with_its_own_status_only(self) -> None:
        idle = computed(live(), observed(BEFORE).verdicts)
        moved = computed(live(status=idle), observed().verdicts, now=LATER)
        assert changed(idle, moved)
        assert condition(moved, "ReplicaFactorVerified")["lastTransitionTime"] == LATER
        assert condition(moved, "Ready")["lastTransitionTime"] == NOW

    def test_what_others_keep_in_the_status_is_no_reason_to_write(self) -> None:
        status = computed(live(), observed().verdicts)
        other = {"type": "Theirs", "status": "True"}
        assert not changed({**status, "theirs": 1, "conditions": [other, *reversed(status["conditions"])]}, status)

    def test_a_field_that_is_gone_is_a_reason(self) -> None:
        status = computed(live(), observed().verdicts)
        assert changed(status, {key: value for key, value in status.items() if key != "topology"})


class TestRestartedOperator:
    """An empty memory is no news: the stored verdict of this generation is the better knowledge."""

    @pytest.mark.parametrize(
        "verdicts",
        [
            pytest.param(None, id="nothing read"),
            pytest.param(observed(AFTER).verdicts, id="a baseline read"),
            pytest.param(observed(AFTER, IDLE).verdicts, id="idle"),
        ],
    )
    def test_the_stored_verdict_is_kept_word_for_word(self, verdicts: Verdicts | None) -> None:
        status = computed(live(), observed().verdicts)
        assert computed(live(status=status), verdicts, now=LATER) == status

    def test_new_evidence_takes_its_place(self) -> None:
        status = computed(live(), observed().verdicts)
        one_copy = [prefill(15, transfers=1, logical=274.5, reported=274.5, busy=0.5), decode(15, wire=1098.0)]
        again = computed(live(status=status), observed(BEFORE, one_copy).verdicts, now=LATER)
        assert says(again, "ReplicaFactorVerified") == "False/FactorNotApplied"

    def test_another_generation_knows_nothing_yet(self) -> None:
        status = computed(live(), observed().verdicts)
        again = computed(live(status=status, generation=2), observed(BEFORE, generation=2).verdicts, now=LATER)
        assert says(again, "ReplicaFactorVerified") == "Unknown/NoTraffic"
        assert condition(again, "ReplicaFactorVerified")["observedGeneration"] == 2
        assert (again["factor"], again["bandwidth"]) == ("4", "")

    def test_verdicts_about_another_generation_are_not_this_ones(self) -> None:
        assert says(computed(live(generation=2), observed().verdicts), "PairingHealthy") == "Unknown/NotObserved"

    def test_another_expected_factor_voids_the_stored_verdict(self) -> None:
        status = computed(live(), observed().verdicts)
        status["topology"]["expectedReplicaFactor"] = 2  # as an earlier version of the operator knew it
        assert says(computed(live(status=status)), "ReplicaFactorVerified") == "Unknown/NotObserved"

    def test_verification_that_is_switched_off_keeps_nothing(self) -> None:
        status = computed(live(), observed().verdicts)
        again = computed(live(status=status), disabled(expecting()))
        assert says(again, "ReplicaFactorVerified") == "Unknown/VerificationDisabled"


roles = st.sampled_from(["router", "prefill", "decode"])
troubles = st.sampled_from([None, UNPULLABLE, ("CrashLoopBackOff", "x"), ("CreateContainerError", "y" * 5000)])
pods = st.builds(
    pod_object, roles, number=st.integers(0, 2), ready=st.booleans(), waiting=troubles, restarts=st.integers(0, 5)
)
workloads = st.builds(
    workload_object, roles, replicas=st.integers(0, 3), updated=st.none() | st.integers(0, 3), seen=st.integers(0, 1)
)
failures = st.sampled_from([None, Transient("x"), Conflict("x"), Bug("x" * 9000)])
invalids = st.sampled_from([None, Invalid("spec.x", "a 1 b 2"), Unsupported("spec.slo", "is not supported yet")])
REASONS = {each.value: each for each in Reason}
KINDS = {each.value: each for each in ConditionType}
fallbacks = (observed(BEFORE, transport=each).verdicts for each in ("TCP", "RDMA", "Auto"))
verdict_choices = st.sampled_from([None, disabled(expecting()), *fallbacks, observed().verdicts])


@given(st.lists(pods, max_size=6), st.lists(workloads, max_size=4), verdict_choices, failures, invalids)
def test_every_condition_is_there_once_and_documented(
    some_pods: list[dict[str, Any]],
    some_workloads: list[dict[str, Any]],
    verdicts: Verdicts | None,
    failure: Failure | None,
    invalid: Invalid | None,
) -> None:
    state = live(pods=tuple(some_pods), workloads=tuple(some_workloads))
    status = computed(state, verdicts, failure=failure, invalid=invalid)
    assert [each["type"] for each in status["conditions"]] == [kind.value for kind in ConditionType]
    for each in status["conditions"]:
        kind, reason = KINDS[each["type"]], REASONS[each["reason"]]
        assert reason in STATES[kind][Status(each["status"])]
        assert 0 < len(each["message"]) <= 2000
    again = computed(replace(state, status=status), verdicts, failure=failure, invalid=invalid, now=LATER)
    assert not changed(status, again)
