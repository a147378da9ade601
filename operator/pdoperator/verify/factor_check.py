"""Does what senders report fit the expected factor? Judged sender by sender, by increments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pdoperator.api.conditions import Finding, Reason, Status
from pdoperator.verify.evidence import Evidence, Increment
from pdoperator.verify.expectation import Expectation
from pdoperator.verify.ratio import AppliedTwice, Comparison, Matches, NotApplied, Unexplained, compare, quotient
from pdoperator.verify.wire_check import WireAgrees, WireDiffers, WireUnjudged, wire
from pdoperator.verify.wording import names, significant

# A page is read while it is being written: one interval may hold a request's logical bytes without its reported ones.
# The next one holds the rest, so it takes two, and their sum, to contradict an expectation.
_CONTRADICTIONS: Final = 2
# So many requests at exactly one copy aren't a warm-up: an engine that learns its factor has learnt it by then.
_NO_WARM_UP: Final = 4
_RECEIVERS_AGREE: Final = " Receivers count the same."
_FAULTS: Final[Mapping[type[NotApplied | AppliedTwice | Unexplained], tuple[Reason, str]]] = {
    NotApplied: (
        Reason.FACTOR_NOT_APPLIED,
        "The metric's bytes and speed are too low by the factor: the metric is wrong, not the link.",
    ),
    AppliedTwice: (
        Reason.FACTOR_APPLIED_TWICE,
        "The factor is multiplied in twice: the metric is wrong, not the link.",
    ),
    Unexplained: (
        Reason.UNEXPLAINED_RATIO,
        "No known error gives this number: unexpected bytes are moved or counted.",
    ),
}


@dataclass(frozen=True, slots=True)
class FactorVerdict:
    """The finding, and the figure for the status: "" while nothing was observed."""

    finding: Finding
    observed: str = ""


@dataclass(frozen=True, slots=True)
class _Sender:
    name: str
    observed: Fraction | None
    verdict: Comparison | None  # None: not enough to judge


def judge_factor(evidence: Evidence, expectation: Expectation, previous: FactorVerdict | None) -> FactorVerdict:
    """The verdict on this evidence. `previous` is the verdict on the same expectation, if there was one."""
    if expectation.factor is None:
        return FactorVerdict(Finding(Status.UNKNOWN, Reason.FACTOR_UNKNOWN, expectation.because))
    verified = previous is not None and previous.finding.status is Status.TRUE
    senders = _senders(evidence, expectation, verified=verified)
    wrong = [each for each in senders if isinstance(each.verdict, NotApplied | AppliedTwice | Unexplained)]
    if wrong:
        return _contradicted(wrong, expectation, expectation.factor)
    if not any(isinstance(each.verdict, Matches) for each in senders):
        if previous is not None and previous.finding.status is not Status.UNKNOWN:
            return previous  # a verdict stands until traffic says otherwise
        return FactorVerdict(_not_yet(evidence, senders, expectation.factor))
    return _confirmed(evidence, expectation, previous)


def _senders(evidence: Evidence, expectation: Expectation, *, verified: bool) -> list[_Sender]:
    """The senders still there; those that are gone only while no other has sent anything."""
    ordered = [each for interval in evidence.intervals for each in interval.increments if each.reported_bytes > 0]
    seen = dict.fromkeys(each.pod for each in ordered)
    present = [pod for pod in seen if pod in evidence.pods]
    judged = (
        _sender(
            [each for each in evidence.of(pod) if _comparable(each, expectation)],
            expectation,
            verified=verified,
        )
        for pod in present or seen
    )
    return [each for each in judged if each is not None]


def _comparable(increment: Increment, expectation: Expectation) -> bool:
    """A pod that was told another factor belongs to another revision: a rollout hasn't reached it yet."""
    told = increment.expected_factor
    return increment.reported_bytes > 0 and told in {None, expectation.factor}


def _sender(newest_first: Sequence[Increment], expectation: Expectation, *, verified: bool) -> _Sender | None:
    if not newest_first:
        return None
    off: list[Increment] = []
    for each in newest_first:
        if isinstance(_compare([each], expectation), Matches):
            break
        if not _warming_up(each, expectation):
            off.append(each)
    name = newest_first[0].pod.name
    newest = _ratio(newest_first[:1])
    if isinstance(_compare(newest_first[:1], expectation), Matches):
        return _Sender(name, newest, Matches())
    recent = off[:_CONTRADICTIONS]
    verdict = _compare(recent, expectation)
    # Exactly one copy, with nothing that says otherwise, is the known fault: no need to see it twice.
    enough = 1 if isinstance(verdict, NotApplied) and not verified else _CONTRADICTIONS
    settled = isinstance(verdict, Matches) or len(recent) >= enough
    return _Sender(name, _ratio(recent) or newest, verdict if settled and recent else None)


def _warming_up(each: Increment, expectation: Expectation) -> bool:
    """Whether this may hold requests that were counted before the engine knew its factor: then it proves nothing."""
    one_copy = isinstance(_compare([each], expectation), NotApplied)
    return each.resolving and not (one_copy and each.transfers >= _NO_WARM_UP)


def _ratio(increments: Sequence[Increment]) -> Fraction | None:
    return quotient(sum(each.reported_bytes for each in increments), sum(each.logical_bytes for each in increments))


def _compare(increments: Sequence[Increment], expectation: Expectation) -> Comparison:
    return compare(_ratio(increments), expectation.factor, expectation.tolerance)


def _contradicted(wrong: Sequence[_Sender], expectation: Expectation, factor: int) -> FactorVerdict:
    """The fault that most of the wrong senders share."""
    shares = {kind: [each for each in wrong if isinstance(each.verdict, kind)] for kind in _FAULTS}
    kind, same = max(shares.items(), key=lambda share: len(share[1]))
    reason, hint = _FAULTS[kind]
    ratios = sorted(each.observed for each in same if each.observed is not None)
    exact = {NotApplied: "1", AppliedTwice: str(factor * factor)}
    observed = exact.get(kind) or significant(ratios[len(ratios) // 2])
    message = (
        f"observed {observed}, expected {factor} ({expectation.because}): copies per logical byte as reported by "
        f"{names(each.name for each in same)}. {hint}"
    )
    return FactorVerdict(Finding(Status.FALSE, reason, message), observed)


def _confirmed(evidence: Evidence, expectation: Expectation, previous: FactorVerdict | None) -> FactorVerdict:
    factor = expectation.factor or 1
    message = f"expected {factor}, observed {factor} copies per logical byte: {expectation.because}."
    match wire(evidence, factor=factor, tolerance=expectation.tolerance):
        case WireDiffers(ratio=ratio):
            return FactorVerdict(
                Finding(
                    Status.FALSE,
                    Reason.WIRE_BYTES_MISMATCH,
                    f"senders report {factor} copies per logical byte, as expected ({expectation.because}), but "
                    f"receivers count {significant(ratio)}. Bytes are lost or sent twice, or the pods' topology isn't "
                    "the declared one.",
                ),
                str(factor),
            )
        case WireAgrees():
            message += _RECEIVERS_AGREE
        case WireUnjudged():
            if previous is not None and previous.finding.reason is Reason.WIRE_BYTES_MISMATCH:
                return previous  # only receivers' bytes can take this back
            if previous is not None and previous.finding.message == message + _RECEIVERS_AGREE:
                return previous
    return FactorVerdict(Finding(Status.TRUE, Reason.FACTOR_MATCHES, message), str(factor))


def _not_yet(evidence: Evidence, senders: Sequence[_Sender], factor: int) -> Finding:
    counted = [each.counters for each in evidence.pods.values() if each.counters is not None]
    if senders:
        why = "the requests seen so far may have been counted before the factor was known, or while the page was read"
    elif any(each.reported_bytes for each in counted):
        why = "transfers were counted before the first read; increments since then are needed"
    elif not counted:
        return Finding(Status.UNKNOWN, Reason.NOT_OBSERVED, "no worker's metrics were read yet.")
    else:
        why = "no transfer was counted yet; send a request"
        return Finding(Status.UNKNOWN, Reason.NO_TRAFFIC, f"expected {factor}: {why}.")
    return Finding(Status.UNKNOWN, Reason.WARMING_UP, f"expected {factor}: {why}.")
