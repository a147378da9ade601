"""Do transfers succeed? Judged pod by pod: one bad pod among good ones must not hide in a sum."""

from collections.abc import Sequence

from pdoperator.api.conditions import Finding, Reason, Status
from pdoperator.topology.role import Role
from pdoperator.verify.evidence import Evidence, Increment
from pdoperator.verify.wording import names

# A pair that worked is called failing after this many failures with nothing in between: one aborted request is no news.
_FAILURES_TO_DOUBT = 3


def judge_pairing(evidence: Evidence, previous: Finding | None) -> Finding:
    """The verdict on this evidence. `previous` is the verdict on the same expectation, if there was one."""
    worked = previous is not None and previous.status is Status.TRUE
    failing = {
        pod.name: reasons
        for pod in evidence.pods
        if (reasons := _failing(evidence.of(pod), doubt=_FAILURES_TO_DOUBT if worked else 1))
    }
    if failing:
        words = names(reason for reasons in failing.values() for reason in reasons)
        return Finding(
            Status.FALSE,
            Reason.TRANSFERS_FAILING,
            f"transfers of {names(failing)} fail, by the workers' own reason: {words}. Read the log of these pods.",
        )
    if any(_succeeded(each) for interval in evidence.intervals for each in interval.increments):
        return Finding(Status.TRUE, Reason.TRANSFERS_SUCCEED, "transfers were counted, and no worker's fail.")
    if previous is not None and previous.status is not Status.UNKNOWN:
        return previous  # a verdict stands until traffic says otherwise
    if not any(each.counters is not None for each in evidence.pods.values()):
        return Finding(Status.UNKNOWN, Reason.NOT_OBSERVED, "no worker's metrics were read yet.")
    return Finding(Status.UNKNOWN, Reason.NO_TRAFFIC, "no transfer was counted since the first read; send a request.")


def _failing(newest_first: Sequence[Increment], *, doubt: int) -> tuple[str, ...]:
    """The reasons of this pod's newest failures when they outweigh its successes; () when it does its work."""
    failures = 0
    reasons: list[str] = []
    for each in newest_first:
        if not each.failed and not _succeeded(each):
            continue
        if not _mostly_fails(each):
            break
        failures += each.failed
        reasons += [reason or "no reason given" for reason, _ in each.failures]
    return tuple(reasons) if failures >= doubt else ()


def _succeeded(each: Increment) -> bool:
    return each.transfers > 0 or (each.role is Role.DECODE and each.wire_bytes > 0)


def _mostly_fails(each: Increment) -> bool:
    if each.role is Role.PREFILL:
        return each.failed > each.transfers
    # A receiver counts no transfers: bytes that passed their checksum are its only success.
    return each.failed > 0 and (each.wire_bytes == 0 or each.corrupt_pages > 0)
