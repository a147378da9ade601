"""The replica factor's verdict, with the figures of the reports it was made for."""

from collections.abc import Sequence

import pytest

from pdoperator.api.conditions import Reason, Status
from pdoperator.verify.expectation import Expectation
from pdoperator.verify.samples import Reading
from pdoperator.verify.verdict import Memory, Verdicts, advance
from tests.support.pages import decode, expecting, page, pod, prefill

LOGICAL = 274.5  # MiB of one request of 4096 tokens at 70,272 B


def watched(*observations: Sequence[Reading], expectation: Expectation | None = None) -> Verdicts:
    memory: Memory | None = None
    for readings in observations:
        memory = advance(memory, readings, expectation or expecting())
    assert memory is not None
    return memory.verdicts


def requests(at: float, count: int, *, copies: float, resolved: int | None = 4, expected: int = 4) -> Reading:
    """A sender that has moved so many requests since it started."""
    return prefill(
        at,
        transfers=count,
        logical=LOGICAL * count,
        reported=LOGICAL * copies * count,
        resolved=resolved,
        expected=expected,
    )


class TestOneRequest:
    """One request of 4096 tokens; an engine that counts all copies, and one from before the fix."""

    @pytest.mark.case("A-01")
    @pytest.mark.parametrize("factor", [4, 8])
    def test_an_engine_that_counts_one_copy_is_found_out(self, factor: int) -> None:
        before, after = (requests(at, at, copies=1, resolved=factor, expected=factor) for at in (0, 1))
        verdicts = watched([before], [after], expectation=expecting(factor))
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.FALSE, Reason.FACTOR_NOT_APPLIED)
        assert f"observed 1, expected {factor}" in verdicts.factor.message
        assert "the metric is wrong, not the link" in verdicts.factor.message
        assert "v2-prefill-0" in verdicts.factor.message
        assert verdicts.observed_factor == "1"

    @pytest.mark.case("A-01")
    @pytest.mark.parametrize("factor", [4, 8])
    def test_an_engine_that_counts_every_copy_is_verified(self, factor: int) -> None:
        before, after = (requests(at, at, copies=factor, resolved=factor, expected=factor) for at in (0, 1))
        verdicts = watched([before], [after], expectation=expecting(factor))
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.TRUE, Reason.FACTOR_MATCHES)
        assert f"expected {factor}, observed {factor}" in verdicts.factor.message
        assert verdicts.observed_factor == str(factor)


class TestWarmUp:
    """The first requests are counted before the engine knows its factor; running totals would never forget them."""

    first = prefill(0, transfers=2, logical=LOGICAL * 2, reported=549.0)
    second = prefill(30, transfers=22, logical=LOGICAL * 22, reported=22509.0)

    @pytest.mark.case("A-15")
    def test_the_first_read_is_no_verdict(self) -> None:
        verdicts = watched([self.first])
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.UNKNOWN, Reason.WARMING_UP)

    @pytest.mark.case("A-15")
    def test_the_second_read_is_judged_by_its_increments(self) -> None:
        verdicts = watched([self.first], [self.second])
        assert verdicts.factor.status is Status.TRUE
        assert verdicts.observed_factor == "4"

    @pytest.mark.case("A-15")
    def test_an_engine_histogram_alone_gives_the_same_verdict(self) -> None:
        def text(count: int, total: float) -> str:
            return (
                f'sglang:kv_transfer_total_mb_sum{{tp_rank="0"}} {total}\n'
                f'sglang:kv_transfer_total_mb_count{{tp_rank="0"}} {count}\n'
                f"pd_kv_logical_bytes_total {LOGICAL * count * 1048576}\n"
            )

        verdicts = watched([page(0, text(2, 549.0))], [page(30, text(22, 22509.0))])
        assert verdicts.factor.status is Status.TRUE

    def test_one_copy_while_the_factor_was_being_learnt_proves_nothing(self) -> None:
        verdicts = watched([requests(0, 0, copies=1, resolved=None)], [requests(15, 2, copies=1)])
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.UNKNOWN, Reason.WARMING_UP)

    def test_many_requests_at_one_copy_are_no_warm_up(self) -> None:
        verdicts = watched([requests(0, 0, copies=1, resolved=None)], [requests(15, 8, copies=1)])
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.FALSE, Reason.FACTOR_NOT_APPLIED)

    def test_a_mixture_while_the_factor_was_being_learnt_proves_nothing_either(self) -> None:
        mixed = prefill(30, transfers=22, logical=LOGICAL * 22, reported=LOGICAL * (2 + 4 * 20))
        verdicts = watched([requests(0, 0, copies=1, resolved=None)], [mixed])
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.UNKNOWN, Reason.WARMING_UP)

    def test_a_match_while_the_factor_was_being_learnt_is_one(self) -> None:
        verdicts = watched([requests(0, 0, copies=1, resolved=None)], [requests(15, 2, copies=4)])
        assert verdicts.factor.status is Status.TRUE


class TestRestart:
    """Counters that start again, next to a pod that goes on."""

    def test_a_restart_under_traffic_never_contradicts(self) -> None:
        other = pod("v2-prefill-1")
        states = [
            advance(None, [prefill(0), prefill(0, ref=other, logical=1372.5, reported=5490)], expecting()),
        ]
        for at, mine, others in [(15, 10980, 8235), (30, 1098, 10980), (45, 2196, 13725)]:
            readings = [
                prefill(at, logical=mine / 4, reported=mine),
                prefill(at, ref=other, logical=others / 4, reported=others),
            ]
            states.append(advance(states[-1], readings, expecting()))
        assert [each.verdicts.factor.status.value for each in states] == ["Unknown", "True", "True", "True"]
        assert {each.verdicts.observed_factor for each in states[1:]} == {"4"}


class TestHysteresis:
    """A page is read while it is written; and idle time proves nothing."""

    def test_one_torn_page_after_a_match_changes_nothing(self) -> None:
        verdicts = watched(
            [requests(0, 0, copies=4)],
            [requests(15, 10, copies=4)],
            # The logical bytes of an 11th request are there, its reported ones aren't yet ...
            [prefill(30, transfers=11, logical=LOGICAL * 12, reported=LOGICAL * 4 * 11)],
        )
        assert verdicts.factor.status is Status.TRUE

    def test_a_torn_page_and_its_other_half_match_together(self) -> None:
        verdicts = watched(
            [requests(0, 0, copies=4)],
            [prefill(15, transfers=1, logical=LOGICAL * 2, reported=LOGICAL * 4)],
            [prefill(30, transfers=3, logical=LOGICAL * 3, reported=LOGICAL * 12)],
        )
        assert verdicts.factor.status is Status.TRUE

    def test_two_intervals_that_contradict_turn_a_match_over(self) -> None:
        verdicts = watched(
            [requests(0, 0, copies=4)],
            [requests(15, 10, copies=4)],
            [prefill(30, transfers=20, logical=LOGICAL * 20, reported=LOGICAL * (40 + 10))],
            [prefill(45, transfers=30, logical=LOGICAL * 30, reported=LOGICAL * (40 + 20))],
        )
        assert verdicts.factor.reason is Reason.FACTOR_NOT_APPLIED

    @pytest.mark.parametrize("copies", [4, 1])
    def test_a_verdict_stands_while_nothing_moves(self, copies: int) -> None:
        moved = [requests(0, 0, copies=copies)], [requests(15, 5, copies=copies)]
        idle = [[requests(15.0 * n, 5, copies=copies)] for n in range(2, 30)]
        assert watched(*moved, *idle) == watched(*moved)

    def test_an_unexplained_ratio_that_wanders_is_no_news(self) -> None:
        totals = (0, 217, 434, 655)
        history = [[prefill(15 * n, logical=100 * n, reported=total)] for n, total in enumerate(totals)]
        assert watched(*history[:3]).factor == watched(*history).factor
        assert "observed 2.2, expected 4" in watched(*history).factor.message
        assert watched(*history).factor.reason is Reason.UNEXPLAINED_RATIO

    def test_a_cured_sender_is_verified_with_its_next_traffic(self) -> None:
        cured = pod("v2-prefill-0", uid="another")
        verdicts = watched(
            [requests(0, 0, copies=1)],
            [requests(15, 5, copies=1)],
            [prefill(30, ref=cured)],
            [prefill(45, ref=cured, logical=100, reported=400)],
        )
        assert verdicts.factor.status is Status.TRUE


class TestWho:
    """One wrong sender among right ones must not hide in a sum."""

    def test_the_wrong_sender_is_named(self) -> None:
        refs = [pod(f"v2-prefill-{n}") for n in range(20)]
        before = [prefill(0, ref=ref) for ref in refs]
        after = [prefill(15, ref=ref, logical=100, reported=400 if n else 100) for n, ref in enumerate(refs)]
        verdicts = watched(before, after)
        assert verdicts.factor.reason is Reason.FACTOR_NOT_APPLIED
        assert "reported by v2-prefill-0." in verdicts.factor.message

    def test_many_wrong_senders_are_named_in_part(self) -> None:
        refs = [pod(f"v2-prefill-{n}") for n in range(8)]
        before = [prefill(0, ref=ref) for ref in refs]
        after = [prefill(15, ref=ref, logical=1, reported=1) for ref in refs]
        assert "v2-prefill-4 and 3 more" in watched(before, after).factor.message

    def test_silent_ranks_are_no_part_of_it(self) -> None:
        def text(logical: int, reported: int) -> str:
            silent = [f'pd_kv_logical_bytes_total{{tp_rank="{rank}"}} 0' for rank in (1, 2, 3)]
            silent += [f'pd_kv_reported_bytes_total{{tp_rank="{rank}"}} 0' for rank in (1, 2, 3)]
            speaking = (f"pd_kv_logical_bytes_total {logical}", f"pd_kv_reported_bytes_total {reported}")
            return "\n".join([*speaking, *silent])

        verdicts = watched([page(0, text(0, 0))], [page(15, text(10, 40))])
        assert verdicts.factor.status is Status.TRUE
        assert verdicts.metrics.status is Status.TRUE

    def test_a_pod_that_was_told_another_factor_is_not_judged_by_this_one(self) -> None:
        old = prefill(15, logical=100, reported=200, expected=2)
        assert watched([prefill(0, expected=2)], [old]).factor.status is Status.UNKNOWN


class TestUnknown:
    """Absent isn't zero, and not-yet is neither."""

    def test_no_requests_is_unknown_and_not_true(self) -> None:
        verdicts = watched([prefill(0), decode(0)], [prefill(15), decode(15)])
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.UNKNOWN, Reason.NO_TRAFFIC)

    def test_no_rule_for_the_factor_is_unknown_whatever_the_traffic(self) -> None:
        verdicts = watched([prefill(0)], [prefill(15, logical=10, reported=40)], expectation=expecting(None))
        assert (verdicts.factor.status, verdicts.factor.reason) == (Status.UNKNOWN, Reason.FACTOR_UNKNOWN)

    def test_nothing_read_is_unknown(self) -> None:
        assert watched([]).factor.reason is Reason.NOT_OBSERVED

    def test_a_metric_that_stays_at_zero_is_no_missing_factor(self) -> None:
        verdicts = watched([prefill(0)], [prefill(15, transfers=10)])
        assert verdicts.factor.status is Status.UNKNOWN

    def test_twice_the_factor(self) -> None:
        verdicts = watched([prefill(0)], [prefill(15, logical=1, reported=16)], [prefill(30, logical=2, reported=32)])
        assert verdicts.factor.reason is Reason.FACTOR_APPLIED_TWICE
        assert "observed 16, expected 4" in verdicts.factor.message
