"""Is the transport asked for the one in use? By the workers' evidence, not by what they were told."""

from collections.abc import Mapping
from dataclasses import dataclass

from pdoperator.api.conditions import Finding, Reason, Status
from pdoperator.verify.evidence import Evidence
from pdoperator.verify.expectation import Expectation
from pdoperator.verify.samples import PodRef
from pdoperator.verify.wording import names


@dataclass(frozen=True, slots=True)
class _InUse:
    backends: frozenset[str]
    transports: frozenset[str]


def judge_transport(evidence: Evidence, expectation: Expectation) -> Finding:
    """The verdict on the workers that say what they use; one that doesn't say yet is still starting."""
    used = {
        pod: _InUse(frozenset(b for b, _ in known), frozenset(t for _, t in known))
        for pod, each in evidence.pods.items()
        if each.counters is not None and (known := each.counters.transports)
    }
    if not used:
        return Finding(Status.UNKNOWN, Reason.NOT_OBSERVED, "no worker has said yet which transport it uses.")
    asked = expectation.transport
    tcp = {pod: each for pod, each in used.items() if "TCP" in each.transports}
    if asked == "RDMA" and tcp:
        return Finding(
            Status.FALSE,
            Reason.RDMA_DEVICE_NOT_FOUND,
            f"RDMA was asked for, TCP is in use on {_places(tcp)}: the engine found no RDMA device there. Check "
            "/sys/class/infiniband on the node and /dev/infiniband in the pod.",
        )
    other = {
        pod: each
        for pod, each in used.items()
        if each.backends != {expectation.backend} or (asked != "Auto" and each.transports != {asked})
    }
    if other:
        return _unexpected(other, expectation)
    if asked == "Auto" and tcp:
        return Finding(
            Status.TRUE,
            Reason.FELL_BACK_TO_TCP,
            f"transport Auto fell back to TCP on {_places(tcp)}: no RDMA device is visible there.",
        )
    found = names(transport for each in used.values() for transport in each.transports)
    return Finding(Status.TRUE, Reason.TRANSPORT_IN_USE, f"{found} is in use by {expectation.backend}, as asked.")


def _unexpected(other: Mapping[PodRef, _InUse], expectation: Expectation) -> Finding:
    found = names(
        f"{backend or '?'} over {names(each.transports)}" for each in other.values() for backend in each.backends
    )
    return Finding(
        Status.FALSE,
        Reason.UNEXPECTED_TRANSPORT,
        f"{expectation.backend} over {expectation.transport} was asked for, {found} is in use on {_places(other)}.",
    )


def _places(pods: Mapping[PodRef, object]) -> str:
    return names(f"{pod.name} (node {pod.node})" if pod.node else pod.name for pod in pods)
