"""Workers' metrics pages for tests: written as the text a worker serves, and read by the product's own parser."""

from collections.abc import Mapping
from fractions import Fraction

from pdoperator.topology.role import Role
from pdoperator.verify.expectation import Expectation
from pdoperator.verify.exposition import parse
from pdoperator.verify.samples import Gap, GapReason, Page, PodRef

MIB = 1 << 20


def pod(name: str, *, uid: str = "", restarts: int = 0, node: str = "node-1") -> PodRef:
    return PodRef(name=name, uid=uid or f"uid-of-{name}", restarts=restarts, node=node)


def prefill(  # noqa: PLR0913 -- a builder: one argument per series
    at: float,
    *,
    ref: PodRef | None = None,
    transfers: int = 0,
    logical: float = 0,
    reported: float = 0,
    busy: float = 0,
    failures: Mapping[str, int] | None = None,
    expected: int | None = 4,
    resolved: int | None = 4,
    transport: tuple[str, str] | None = ("Mooncake", "TCP"),
) -> Page:
    """A sender's page; byte counts in MiB."""
    labels = 'role="prefill",tp_rank="0",cp_rank="0"'
    lines = [
        f"pd_kv_transfers_total{{{labels}}} {transfers}",
        f"pd_kv_logical_bytes_total{{{labels}}} {logical * MIB}",
        f"pd_kv_reported_bytes_total{{{labels}}} {reported * MIB}",
        f"pd_kv_transfer_busy_seconds_total{{{labels}}} {busy}",
        *_shared(labels, failures, expected, resolved, transport),
    ]
    return _page(ref or pod("v2-prefill-0"), Role.PREFILL, at, lines)


def decode(  # noqa: PLR0913 -- the same
    at: float,
    *,
    ref: PodRef | None = None,
    wire: float = 0,
    corrupt: int = 0,
    failures: Mapping[str, int] | None = None,
    expected: int | None = 4,
    transport: tuple[str, str] | None = ("Mooncake", "TCP"),
) -> Page:
    """A receiver's page; byte counts in MiB."""
    labels = 'role="decode",tp_rank="0",cp_rank="0"'
    lines = [
        f"pd_kv_wire_bytes_total{{{labels}}} {wire * MIB}",
        f"pd_kv_pages_corrupt_total{{{labels}}} {corrupt}",
        *_shared(labels, failures, expected, 4, transport),
    ]
    return _page(ref or pod("v2-decode-0"), Role.DECODE, at, lines)


def page(at: float, text: str, *, ref: PodRef | None = None, role: Role = Role.PREFILL) -> Page:
    return _page(ref or pod("v2-prefill-0"), role, at, text.splitlines())


def gap(at: float, *, ref: PodRef | None = None, role: Role = Role.PREFILL) -> Gap:
    return Gap(ref or pod("v2-prefill-0"), role, at, GapReason.TIMEOUT, "no whole answer within 2 s")


def expecting(
    factor: int | None = 4,
    *,
    generation: int = 1,
    transport: str = "TCP",
    uid: str = "uid-of-v2",
    tolerance: str = "0.05",
) -> Expectation:
    return Expectation(
        uid=uid,
        generation=generation,
        factor=factor,
        because="decode attention TP 4 / prefill attention TP 1",
        backend="Mooncake",
        transport=transport,
        tolerance=Fraction(tolerance),
    )


def _page(ref: PodRef, role: Role, at: float, lines: list[str]) -> Page:
    return Page(pod=ref, role=role, at_seconds=at, series=parse("\n".join(lines)))


def _shared(
    labels: str,
    failures: Mapping[str, int] | None,
    expected: int | None,
    resolved: int | None,
    transport: tuple[str, str] | None,
) -> list[str]:
    lines = [
        f'pd_kv_transfer_failures_total{{{labels},reason="{why}"}} {count}' for why, count in (failures or {}).items()
    ]
    if expected is not None:
        lines.append(f"pd_expected_replica_factor{{{labels}}} {expected}")
    if resolved is not None:
        lines.append(f"pd_resolved_replica_factor{{{labels}}} {resolved}")
    if transport is not None:
        lines.append(f'pd_transport_info{{{labels},backend="{transport[0]}",transport="{transport[1]}"}} 1')
    return lines
