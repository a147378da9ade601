"""What the operator is told at its start, by flags or by the environment."""

from dataclasses import dataclass

from pdoperator.plan.plan import PlanSettings


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The operator's settings. __main__ has the flag and the environment variable of each."""

    plan: PlanSettings
    namespaces: tuple[str, ...] = ()  # none: cluster-wide
    lease_namespace: str = "default"
    lease_name: str = "pd-operator"
    lease_seconds: int = 15
    identity: str = "pd-operator"
    http_port: int = 8080
    resync_seconds: float = 600.0
    concurrency: int = 4
    # kopf drops a watch that was silent for so long. The API server sends a bookmark every 60 s.
    watch_inactivity_seconds: float = 70.0
