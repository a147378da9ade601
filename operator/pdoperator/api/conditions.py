"""The condition types, and which reasons each may carry. The reference page is made from this file."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pdoperator.api.reasons import Reason

__all__ = ["STATES", "ConditionType", "Finding", "Reason", "Status"]


class Status(StrEnum):
    """The three answers a condition can give. Unknown is not False."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ConditionType(StrEnum):
    """What is judged. All ten are always in the status."""

    true_when: str

    def __new__(cls, value: str, true_when: str) -> Self:
        """A string that knows when it is True."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.true_when = true_when
        return member

    READY = "Ready", "TopologyValid, Available and TransportReady hold: the summary. Verification never takes it away"
    DEGRADED = "Degraded", "something asked for doesn't hold: True is the bad side. The reason is the worst finding's"
    TOPOLOGY_VALID = "TopologyValid", "the spec can run on this engine, backend and version"
    AVAILABLE = "Available", "at least one router, one prefill and one decode pod are ready: a request can be served"
    PROGRESSING = "Progressing", "a start-up or a change is under way"
    TRANSPORT_READY = "TransportReady", "the transport asked for is the one in use, on every worker that was read"
    PAIRING_HEALTHY = "PairingHealthy", "transfers were counted, and no worker's transfers fail"
    REPLICA_FACTOR_VERIFIED = (
        "ReplicaFactorVerified",
        "what senders report, and what receivers count, is the expected number of copies",
    )
    METRICS_AVAILABLE = "MetricsAvailable", "every worker's metrics were read in time, whole and sane"
    BANDWIDTH_SLO_MET = "BandwidthSLOMet", "the bandwidth floor holds over its window"


@dataclass(frozen=True, slots=True)
class Finding:
    """One judgement: everything a condition says apart from its type and its times."""

    status: Status
    reason: Reason
    message: str


_T, _F, _U = Status.TRUE, Status.FALSE, Status.UNKNOWN
_SPEC_FAULTS = (Reason.TOPOLOGY_INVALID, Reason.UNSUPPORTED_FIELD)
_POD_FAULTS = (
    Reason.IMAGE_PULL_FAILED,
    Reason.CONTAINER_NOT_STARTED,
    Reason.CRASH_LOOPING,
    Reason.PODS_UNSCHEDULABLE,
)
_MISSING = (*_POD_FAULTS, Reason.NO_ROUTER, Reason.NO_PREFILL, Reason.NO_DECODE, Reason.SCALED_TO_ZERO)
_TRANSPORT_FAULTS = (Reason.RDMA_DEVICE_NOT_FOUND, Reason.UNEXPECTED_TRANSPORT)
_FACTOR_FAULTS = (
    Reason.FACTOR_NOT_APPLIED,
    Reason.FACTOR_APPLIED_TWICE,
    Reason.UNEXPLAINED_RATIO,
    Reason.WIRE_BYTES_MISMATCH,
)
_METRICS_FAULTS = (Reason.SCRAPE_FAILED, Reason.SERIES_MISSING, Reason.NOT_REPORTED, Reason.UNSUPPORTED_TYPE)
_UNSEEN = (Reason.NOT_OBSERVED, Reason.VERIFICATION_DISABLED)

STATES: Mapping[ConditionType, Mapping[Status, tuple[Reason, ...]]] = {
    ConditionType.READY: {
        _T: (Reason.ALL_READY,),
        _F: (*_SPEC_FAULTS, *_MISSING, *_TRANSPORT_FAULTS),
        _U: (Reason.NOT_OBSERVED,),
    },
    ConditionType.DEGRADED: {
        _T: (
            *_SPEC_FAULTS,
            Reason.APPLY_FAILED,
            *_POD_FAULTS,
            *_TRANSPORT_FAULTS,
            Reason.TRANSFERS_FAILING,
            *_FACTOR_FAULTS,
            *_METRICS_FAULTS,
            Reason.FELL_BACK_TO_TCP,
        ),
        _F: (Reason.AS_EXPECTED,),
    },
    ConditionType.TOPOLOGY_VALID: {_T: (Reason.VALID,), _F: _SPEC_FAULTS},
    ConditionType.AVAILABLE: {_T: (Reason.PAIR_ROUTABLE,), _F: _MISSING},
    ConditionType.PROGRESSING: {
        _T: (Reason.STARTING, Reason.ROLLING_OUT, Reason.APPLY_RETRYING),
        _F: (Reason.UP_TO_DATE, *_SPEC_FAULTS, Reason.APPLY_FAILED, *_POD_FAULTS),
    },
    ConditionType.TRANSPORT_READY: {
        _T: (Reason.TRANSPORT_IN_USE, Reason.FELL_BACK_TO_TCP),
        _F: _TRANSPORT_FAULTS,
        _U: _UNSEEN,
    },
    ConditionType.PAIRING_HEALTHY: {
        _T: (Reason.TRANSFERS_SUCCEED,),
        _F: (Reason.TRANSFERS_FAILING,),
        _U: (Reason.NO_TRAFFIC, *_UNSEEN),
    },
    ConditionType.REPLICA_FACTOR_VERIFIED: {
        _T: (Reason.FACTOR_MATCHES,),
        _F: _FACTOR_FAULTS,
        _U: (Reason.NO_TRAFFIC, Reason.WARMING_UP, Reason.FACTOR_UNKNOWN, *_UNSEEN),
    },
    ConditionType.METRICS_AVAILABLE: {
        _T: (Reason.SCRAPED,),
        _F: _METRICS_FAULTS,
        _U: (Reason.NO_WORKERS, Reason.NOT_SCRAPED, *_UNSEEN),
    },
    ConditionType.BANDWIDTH_SLO_MET: {_U: (Reason.NOT_CONFIGURED,)},
}
"""Which reasons each type gives with which status. Tests hold the code to it; the reference page is made from it."""
