"""The memory of one deployment's verification, and how it moves: memory, readings, expectation -> memory."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from pdoperator.api.conditions import Finding, Reason, Status
from pdoperator.verify.bandwidth import bytes_per_busy_second, close_rates
from pdoperator.verify.evidence import Evidence, absorb
from pdoperator.verify.expectation import Expectation
from pdoperator.verify.factor_check import FactorVerdict, judge_factor
from pdoperator.verify.metrics_check import judge_metrics
from pdoperator.verify.pairing_check import judge_pairing
from pdoperator.verify.samples import PodRef, Reading
from pdoperator.verify.transport_check import judge_transport
from pdoperator.verify.wording import names, same_but_figures

__all__ = ["Expectation", "Memory", "Verdicts", "advance", "disabled", "judge", "without_unread"]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the workers' metrics say about one generation of the spec."""

    expectation: Expectation
    factor: Finding
    pairing: Finding
    transport: Finding
    metrics: Finding
    observed_factor: str = ""  # copies per logical byte, as senders report them; "" while unknown
    bandwidth_bytes_per_second: int | None = None  # of the wire, while busy


@dataclass(frozen=True, slots=True)
class Memory:
    """All that verification remembers of one deployment between two looks at it."""

    evidence: Evidence
    verdicts: Verdicts


def advance(memory: Memory | None, readings: Iterable[Reading] | None, expectation: Expectation) -> Memory:
    """The memory after one look. `readings` is None when it wasn't time to read, [] when there are no workers.

    A new object starts from nothing; a new generation or a changed expectation keeps the baselines, and forgets what
    was counted under the old one.
    """
    evidence, previous = Evidence.empty(), None
    if memory is not None and memory.verdicts.expectation.uid == expectation.uid:
        same = memory.verdicts.expectation == expectation
        evidence = memory.evidence if same else memory.evidence.without_intervals()
        previous = memory.verdicts if same else None
    if readings is not None:
        evidence = absorb(evidence, readings)
    elif memory is not None and previous is memory.verdicts:
        return memory
    return Memory(evidence, judge(evidence=evidence, expectation=expectation, previous=previous))


def judge(*, evidence: Evidence, expectation: Expectation, previous: Verdicts | None) -> Verdicts:
    """The verdicts on this evidence. With the same expectation, words stay as they were while they still hold."""
    if previous is not None and previous.expectation != expectation:
        previous = None
    before = None if previous is None else FactorVerdict(previous.factor, previous.observed_factor)
    factor = judge_factor(evidence, expectation, before)
    found = Verdicts(
        expectation=expectation,
        factor=factor.finding,
        pairing=judge_pairing(evidence, None if previous is None else previous.pairing),
        transport=judge_transport(evidence, expectation),
        metrics=judge_metrics(evidence, None if previous is None else previous.metrics),
        observed_factor=factor.observed,
        bandwidth_bytes_per_second=bytes_per_busy_second(evidence),
    )
    return found if previous is None else _steadied(found, previous)


def disabled(expectation: Expectation) -> Verdicts:
    """What is known when nothing is read."""
    unknown = Finding(
        Status.UNKNOWN, Reason.VERIFICATION_DISABLED, "spec.verification.source is None: nothing is read."
    )
    return Verdicts(expectation, factor=unknown, pairing=unknown, transport=unknown, metrics=unknown)


def without_unread(verdicts: Verdicts, unread: Collection[PodRef]) -> Verdicts:
    """The verdicts while some workers were never read: nobody may take the rest for all of them."""
    if not unread or verdicts.metrics.status is not Status.TRUE:
        return verdicts
    where = names(pod.name for pod in unread)
    return replace(verdicts, metrics=Finding(Status.UNKNOWN, Reason.NOT_SCRAPED, f"started and not read yet: {where}."))


def _steadied(found: Verdicts, previous: Verdicts) -> Verdicts:
    """Figures wander: the same verdict with nearly the same figure isn't news."""
    old, new = previous.factor, found.factor
    if (old.status, old.reason) == (new.status, new.reason) and same_but_figures(old.message, new.message):
        found = replace(found, factor=old, observed_factor=previous.observed_factor)
    if close_rates(previous.bandwidth_bytes_per_second, found.bandwidth_bytes_per_second):
        found = replace(found, bandwidth_bytes_per_second=previous.bandwidth_bytes_per_second)
    return found
