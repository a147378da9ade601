"""How each role stands: what was asked for, what exists, what is ready, what is in the way."""

from dataclasses import dataclass

from pdoperator.api.conditions import Finding
from pdoperator.api.labels import DEPLOYMENT_LABEL, ROLE_LABEL
from pdoperator.live.state import Live, Pod, Workload
from pdoperator.status.pod_troubles import pod_trouble
from pdoperator.topology.role import Role


@dataclass(frozen=True, slots=True)
class RoleState:
    """One role of one PDDeployment."""

    role: Role
    workload: Workload | None  # None: not created yet
    pods: tuple[Pod, ...]  # ours, and not on their way out
    trouble: Finding | None

    @property
    def desired(self) -> int:
        """Pods that the applied workload asks for."""
        return 0 if self.workload is None else self.workload.replicas

    @property
    def ready(self) -> int:
        """Pods that can work."""
        return sum(pod.ready for pod in self.pods)

    @property
    def summary(self) -> str:
        """Ready pods of those asked for, as the printer column shows it."""
        return f"{self.ready}/{self.desired}"

    @property
    def rolling(self) -> bool:
        """Whether pods of an older revision are left, or the workload's own controller hasn't seen its change."""
        work = self.workload
        if work is None:
            return False
        seen = work.observed_generation >= work.generation
        return not seen or work.updated_replicas < work.replicas or work.current_revision != work.update_revision


def roles_of(live: Live) -> dict[Role, RoleState]:
    """Every role, also one that has nothing yet."""
    return {role: _state(live, role) for role in Role}


def role_status(live: Live, state: RoleState) -> dict[str, object]:
    """The role's part of the status."""
    return {
        "replicas": state.desired,
        "readyReplicas": state.ready,
        "selector": f"{DEPLOYMENT_LABEL}={live.key.name},{ROLE_LABEL}={state.role.value}",
        "summary": state.summary,
    }


def _state(live: Live, role: Role) -> RoleState:
    pods = tuple(pod for pod in live.pods if pod.role is role and pod.owned and not pod.terminating)
    workload = next((each for each in live.workloads if each.role is role), None)
    return RoleState(role=role, workload=workload, pods=pods, trouble=pod_trouble(role, pods))
