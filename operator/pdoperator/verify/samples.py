"""What was read from the workers, as values: a page with a time, or a gap with a reason."""

from dataclasses import dataclass, field
from enum import StrEnum

from pdoperator.topology.role import Role


class GapReason(StrEnum):
    """Why a worker's metrics page isn't there."""

    TIMEOUT = "Timeout"  # no whole answer in the time allowed
    UNREACHABLE = "Unreachable"  # refused, reset, no route
    TOO_LARGE = "TooLarge"  # more bytes than any honest page has
    BAD_STATUS = "BadStatus"  # an HTTP status other than 200
    MALFORMED = "Malformed"  # not Prometheus text


@dataclass(frozen=True, slots=True)
class PodRef:
    """One incarnation of a worker pod. A restarted container or a new pod of the same name is another one."""

    name: str
    uid: str
    restarts: int
    node: str = field(default="", compare=False)  # where it runs, for messages; no part of its identity


@dataclass(frozen=True, slots=True)
class Series:
    """One sample: a metric name, its labels in sorted order, and its value."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(frozen=True, slots=True)
class Page:
    """A metrics page that was read in time, whole and sane."""

    pod: PodRef
    role: Role
    at_seconds: float  # monotonic, of the scrape's end
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """A metrics page that wasn't: absent isn't zero."""

    pod: PodRef
    role: Role
    at_seconds: float
    reason: GapReason
    detail: str


Reading = Page | Gap
