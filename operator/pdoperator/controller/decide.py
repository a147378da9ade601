"""What follows from one Live, as values: the pure middle of a reconcile."""

from dataclasses import dataclass

from pdoperator.api.enums import VerificationSource
from pdoperator.api.errors import Invalid
from pdoperator.api.parse import parse
from pdoperator.api.types import Spec
from pdoperator.controller.observer import Watch
from pdoperator.live.state import Live, Pod
from pdoperator.observe.scrape import Target
from pdoperator.plan import ports
from pdoperator.plan.plan import Manifest, Owner, PlanSettings, build
from pdoperator.plan.topology import topology_of
from pdoperator.topology.resolve import Topology
from pdoperator.topology.role import WORKER_ROLES
from pdoperator.verify.expectation import Expectation
from pdoperator.verify.samples import PodRef


@dataclass(frozen=True, slots=True)
class Valid:
    """The spec can run."""

    spec: Spec
    topology: Topology
    manifests: tuple[Manifest, ...]


def decide(live: Live, settings: PlanSettings) -> Valid | Invalid:
    """The plan of a PDDeployment, or what its spec has wrong."""
    try:
        spec = parse(live.parent)
        topology = topology_of(spec)
    except Invalid as invalid:
        return invalid
    owner = Owner(live.key.namespace, live.key.name, live.uid)
    plan = build(owner=owner, spec=spec, topology=topology, settings=settings)
    return Valid(spec, topology, plan.manifests)


def expectation_of(live: Live, valid: Valid) -> Expectation:
    """What the workers should show."""
    return Expectation(
        uid=live.uid,
        generation=live.generation,
        factor=valid.topology.expected_factor,
        because=valid.topology.factor.because,
        backend=valid.spec.transfer.backend.value,
        transport=valid.spec.transfer.transport.value,
        tolerance=valid.spec.verification.tolerance_fraction,
    )


def watch_of(live: Live, valid: Valid) -> Watch | None:
    """What to watch; None where the spec says that nothing is to be read."""
    if valid.spec.verification.source is not VerificationSource.SCRAPE:
        return None
    return Watch(
        expectation=expectation_of(live, valid),
        targets=tuple(_target(pod) for pod in live.pods if _is_target(pod)),
        interval_seconds=float(valid.spec.verification.interval_seconds),
    )


def _is_target(pod: Pod) -> bool:
    # Ready or not: a worker that can't pair still says why. One that hasn't started yet would only be a gap.
    return pod.role in WORKER_ROLES and pod.owned and pod.started and not pod.terminating and pod.ip is not None


def _target(pod: Pod) -> Target:
    ref = PodRef(name=pod.name, uid=pod.uid, restarts=pod.restarts, node=pod.node or "")
    return Target(pod=ref, role=pod.role, ip=pod.ip or "", port=ports.HTTP)
