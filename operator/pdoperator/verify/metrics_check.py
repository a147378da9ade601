"""Whether the workers' pages were read in time, whole and sane, and say anything."""

from pdoperator.api.conditions import Finding, Reason, Status
from pdoperator.verify.evidence import Evidence, Increment
from pdoperator.verify.wording import names

_GAPS_TO_MISS = 2  # one slow answer on a busy node is no news
_BLANKS_TO_MISS = 4  # a worker serves its page before its ranks are up: a minute at the default interval
_INTERVALS_TO_MISS = 3  # senders' and receivers' pages aren't read at the same moment


def judge_metrics(evidence: Evidence, previous: Finding | None) -> Finding:
    """The verdict on the newest readings. Most ranks are silent by design: one that reports is enough."""
    if not evidence.pods:
        return Finding(Status.UNKNOWN, Reason.NO_WORKERS, "there is no started worker pod to read.")
    missed = {pod: each.gap for pod, each in evidence.pods.items() if each.gaps_in_a_row >= _GAPS_TO_MISS}
    if missed:
        where = names(f"{pod.name} ({gap.reason.value})" for pod, gap in missed.items() if gap is not None)
        return Finding(
            Status.FALSE,
            Reason.SCRAPE_FAILED,
            f"/metrics couldn't be read, twice in a row or longer: {where}. The verdicts stand on the other workers.",
        )
    if (fault := _faulty_page(evidence) or _unreported(evidence)) is not None:
        return fault
    blank = any(each.blanks_in_a_row for each in evidence.pods.values())
    if blank or not evidence.complete:
        if previous is not None and previous.status is not Status.UNKNOWN:
            return previous
        return Finding(Status.UNKNOWN, Reason.NOT_OBSERVED, "not every worker's page, with its series, was read yet.")
    return Finding(Status.TRUE, Reason.SCRAPED, "every started worker's page was read in time, whole and sane.")


def _faulty_page(evidence: Evidence) -> Finding | None:
    old = [pod.name for pod, each in evidence.pods.items() if each.counters is not None and each.counters.gauge_only]
    if old:
        return Finding(
            Status.FALSE,
            Reason.UNSUPPORTED_TYPE,
            f"kv_transfer_total_mb is a gauge on {names(old)}: only its last value shows, a histogram is needed.",
        )
    strange = [pod.name for pod, each in evidence.pods.items() if each.blanks_in_a_row >= _BLANKS_TO_MISS]
    if strange:
        return Finding(
            Status.FALSE,
            Reason.SERIES_MISSING,
            f"no transfer series on the page of {names(strange)}: not a prefill/decode worker, or its metrics are off.",
        )
    return None


def _unreported(evidence: Evidence) -> Finding | None:
    """Zero that means "nobody writes it", told from zero that means "no traffic"."""
    recent = evidence.intervals[-_INTERVALS_TO_MISS:]
    every = [each for interval in recent for each in interval.increments if each.pod in evidence.pods]
    mute = [each for each in every if each.transfers and not (each.reported_bytes and each.logical_bytes)]
    speaking = {each.pod for each in every if each.reported_bytes and each.logical_bytes}
    silent = names(each.pod.name for each in mute if each.pod not in speaking)
    if silent:
        return Finding(
            Status.FALSE,
            Reason.NOT_REPORTED,
            f"transfers are counted on {silent} but their logical and reported bytes stay at zero: nobody writes the "
            "metric, so no factor can be judged.",
        )
    if len(recent) == _INTERVALS_TO_MISS and not speaking and all(map(_receiving, every)):
        return Finding(
            Status.FALSE,
            Reason.NOT_REPORTED,
            "receivers count bytes but no sender reports any: nobody writes the metric, so no factor can be judged.",
        )
    return None


def _receiving(each: Increment) -> bool:
    return each.wire_bytes > 0 and not each.failed
