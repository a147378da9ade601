"""How the memory moves: what resets it, what doesn't, and what it never forgets."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pdoperator.api.conditions import STATES, ConditionType, Reason, Status
from pdoperator.verify.evidence import Evidence
from pdoperator.verify.samples import Reading
from pdoperator.verify.verdict import Memory, Verdicts, advance, disabled, judge
from tests.support.pages import decode, expecting, gap, pod, prefill

BEFORE, AFTER = [prefill(0), decode(0)], [prefill(15, transfers=1, logical=10, reported=40), decode(15, wire=40)]


def verified() -> Memory:
    memory = advance(advance(None, BEFORE, expecting()), AFTER, expecting())
    assert memory.verdicts.factor.status is Status.TRUE
    return memory


def test_a_look_without_readings_changes_nothing() -> None:
    memory = verified()
    assert advance(memory, None, expecting()) is memory


def test_a_new_generation_is_unknown_until_it_has_traffic_of_its_own() -> None:
    memory = advance(verified(), None, expecting(generation=2))
    assert memory.verdicts.factor.status is Status.UNKNOWN
    assert memory.verdicts.pairing.status is Status.UNKNOWN
    assert memory.verdicts.observed_factor == ""
    again = [prefill(30, transfers=2, logical=20, reported=80), decode(30, wire=80)]
    assert advance(memory, again, expecting(generation=2)).verdicts.factor.status is Status.TRUE


def test_a_new_generation_keeps_the_transport_that_is_in_use() -> None:
    memory = advance(verified(), None, expecting(generation=2))
    assert memory.verdicts.transport.status is Status.TRUE


def test_a_changed_factor_is_unknown_until_then_too() -> None:
    assert advance(verified(), None, expecting(2)).verdicts.factor.status is Status.UNKNOWN


def test_another_object_of_the_same_name_starts_from_nothing() -> None:
    memory = advance(verified(), None, expecting(uid="another"))
    assert memory.verdicts.factor.reason is Reason.NOT_OBSERVED
    assert not memory.evidence.pods


def test_what_receivers_confirmed_is_said_and_stays_said() -> None:
    quiet = advance(verified(), [prefill(30, transfers=1, logical=10, reported=40), decode(30, wire=40)], expecting())
    assert quiet.verdicts.factor.message.endswith("Receivers count the same.")
    busy = advance(quiet, [prefill(45, transfers=2, logical=20, reported=80), decode(45, wire=50)], expecting())
    assert busy.verdicts.factor == quiet.verdicts.factor


def wire_that_differs() -> Memory:
    memory = advance(None, BEFORE, expecting())
    for n, at in ((1, 15), (2, 30), (3, 45), (3, 60)):
        readings = [prefill(at, transfers=n, logical=10 * n, reported=40 * n), decode(at, wire=10 * n)]
        memory = advance(memory, readings, expecting())
    return memory


def test_a_wire_that_carries_other_bytes_contradicts_matching_reports() -> None:
    found = wire_that_differs().verdicts.factor
    assert (found.status, found.reason) == (Status.FALSE, Reason.WIRE_BYTES_MISMATCH)
    assert "receivers count 1" in found.message


def test_only_wire_bytes_take_a_wire_mismatch_back() -> None:
    differs = wire_that_differs()
    missed: list[Reading] = [prefill(75, transfers=4, logical=40, reported=160), gap(75, ref=pod("v2-decode-0"))]
    whole = unjudged = advance(differs, missed, expecting())
    assert unjudged.verdicts.factor == differs.verdicts.factor
    for at, n in ((90, 5), (105, 405)):
        readings = [prefill(at, transfers=n, logical=10 * n, reported=40 * n), decode(at, wire=40 * n)]
        whole = advance(whole, readings, expecting())
    assert whole.verdicts.factor.status is Status.TRUE


def test_verdicts_on_another_expectation_are_no_previous_ones() -> None:
    memory = verified()
    found = judge(evidence=Evidence.empty(), expectation=expecting(8), previous=memory.verdicts)
    assert found.factor.status is Status.UNKNOWN


def test_when_nothing_is_read_nothing_is_known() -> None:
    verdicts = disabled(expecting())
    found = (verdicts.factor, verdicts.pairing, verdicts.transport, verdicts.metrics)
    assert {(Status.UNKNOWN, Reason.VERIFICATION_DISABLED)} == {(each.status, each.reason) for each in found}


def test_ten_looks_at_a_steady_load_say_the_same() -> None:
    memory = verified()
    seen: set[Verdicts] = set()
    for n in range(2, 40):
        wobble = 0.4 * (n % 2)  # MiB in a thousand
        readings = [
            prefill(15 * n, transfers=n, logical=274.5 * n, reported=1098.0 * n + wobble, busy=n),
            decode(15 * n + 0.1, wire=1098.0 * n + wobble),
        ]
        memory = advance(memory, readings, expecting())
        seen.add(memory.verdicts)
    assert len(seen) <= 2  # the first has no bandwidth of its own yet


totals = st.integers(0, 400)


@st.composite
def looks(draw: st.DrawFn) -> list[list[Reading]]:
    observations: list[list[Reading]] = []
    for at in range(draw(st.integers(1, 8))):
        readings: list[Reading] = []
        for number in range(draw(st.integers(0, 2))):
            ref = pod(f"v2-prefill-{number}", restarts=draw(st.integers(0, 1)))
            sender = prefill(
                at,
                ref=ref,
                transfers=draw(totals),
                logical=draw(totals),
                reported=draw(totals),
                busy=draw(totals),
                failures={"Timeout": draw(totals)},
                transport=draw(st.sampled_from([None, ("Mooncake", "TCP"), ("Mooncake", "RDMA"), ("NIXL", "UCX")])),
            )
            missed: Reading = gap(at, ref=ref)
            readings.append(draw(st.sampled_from([sender, missed])))
        readings.append(decode(at, wire=draw(totals), corrupt=draw(st.integers(0, 1))))
        observations.append(draw(st.permutations(readings)))
    return observations


@settings(max_examples=50)  # each is a whole history
@given(looks(), st.sampled_from(["TCP", "RDMA", "Auto"]), st.sampled_from([None, 1, 4]))
def test_every_verdict_is_documented(observations: list[list[Reading]], transport: str, factor: int | None) -> None:
    memory: Memory | None = None
    expectation = expecting(factor, transport=transport)
    for readings in observations:
        memory = advance(memory, readings, expectation)
        found = {
            ConditionType.REPLICA_FACTOR_VERIFIED: memory.verdicts.factor,
            ConditionType.PAIRING_HEALTHY: memory.verdicts.pairing,
            ConditionType.TRANSPORT_READY: memory.verdicts.transport,
            ConditionType.METRICS_AVAILABLE: memory.verdicts.metrics,
        }
        for kind, each in found.items():
            assert each.reason in STATES[kind][each.status]
            assert 0 < len(each.message) < 1000
        assert advance(memory, None, expectation) is memory
