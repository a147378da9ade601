"""Whether the operator is alive and ready, judged by the work it does, not by answering."""

from dataclasses import dataclass

# A reconcile is bounded by its requests (30 s each, most at once): a key that is worked on or waits longer than this
# means that the workers are stuck.
STUCK_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Vitals:
    """What the judgement rests on, in seconds of a monotonic clock. None means never."""

    active: bool  # holds the lease and reconciles; else a standby that waits for it
    lease_tick_age: float | None  # since the lease loop last came round
    lease_tick_bound: float
    resync_age: float | None  # since the last completed list of all PDDeployments
    resync_bound: float
    oldest_waiting: float
    oldest_working: float


def trouble(vitals: Vitals) -> str:
    """Why the process should be restarted; empty while it is alive."""
    if _older(vitals.lease_tick_age, vitals.lease_tick_bound):
        return (
            f"the lease loop last came round {vitals.lease_tick_age:.0f} s ago (bound {vitals.lease_tick_bound:.0f} s)"
        )
    if not vitals.active:
        return ""
    if _older(vitals.resync_age, vitals.resync_bound):
        return f"no resync completed for {vitals.resync_age:.0f} s (bound {vitals.resync_bound:.0f} s)"
    if vitals.oldest_waiting > STUCK_SECONDS:
        return f"a key has waited for {vitals.oldest_waiting:.0f} s (bound {STUCK_SECONDS:.0f} s)"
    if vitals.oldest_working > STUCK_SECONDS:
        return f"a reconcile has run for {vitals.oldest_working:.0f} s (bound {STUCK_SECONDS:.0f} s)"
    return ""


def unready(vitals: Vitals) -> str:
    """Why it isn't ready yet; empty when it is. A standby is ready: a rollout must not wait for its turn to act."""
    if trouble(vitals):
        return trouble(vitals)
    if vitals.active and vitals.resync_age is None:
        return "the first list of all PDDeployments hasn't completed"
    return ""


def _older(age: float | None, bound: float) -> bool:
    return age is not None and age > bound
