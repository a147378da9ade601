"""scrape(targets): every worker's metrics page, or the reason why it isn't there.

A hung or hostile endpoint costs its timeout and a size limit, never more: no redirects, no cookies, a bounded number of
connections, and the body is cut while it streams.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

from pdoperator.topology.role import Role
from pdoperator.verify.exposition import Limits as PageLimits
from pdoperator.verify.exposition import Malformed, parse
from pdoperator.verify.samples import Gap, GapReason, Page, PodRef, Reading, Series

MAX_DETAIL = 200  # characters: a detail ends in a condition's message
_CHUNK = 64 << 10


@dataclass(frozen=True, slots=True)
class Target:
    """One worker pod and where its metrics are."""

    pod: PodRef
    role: Role
    ip: str
    port: int

    @property
    def url(self) -> str:
        """The address of the page; IPv6 in brackets."""
        host = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"http://{host}:{self.port}/metrics"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one scrape may cost."""

    total_seconds: float = 2.0  # a page is written in milliseconds; more is a hang
    body_bytes: int = 4 << 20  # ten times the largest page of an engine; more is hostile
    connections: int = 32  # at once, over all PDDeployments
    page: PageLimits = field(default_factory=PageLimits)


@dataclass(slots=True)
class Scraper:
    """Reads pages, so many at once over all callers. `now` is monotonic seconds."""

    session: aiohttp.ClientSession
    limits: Limits
    now: Callable[[], float]
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.limits.connections)

    async def scrape(self, targets: Sequence[Target]) -> tuple[Reading, ...]:
        """One reading per target, in their order."""
        return tuple(await asyncio.gather(*(self._read(target) for target in targets)))

    async def _read(self, target: Target) -> Reading:
        try:
            # The clock starts with the slot: waiting for one isn't the worker's fault.
            async with self._slots, asyncio.timeout(self.limits.total_seconds):
                series = await self._page(target.url)
        except TimeoutError:
            seconds = f"{self.limits.total_seconds:g} s"
            return self._gap(target, GapReason.TIMEOUT, f"no whole answer from {target.url} within {seconds}")
        except _Refused as refused:
            return self._gap(target, refused.reason, f"{target.url} {refused}")
        return Page(pod=target.pod, role=target.role, at_seconds=self.now(), series=series)

    def _gap(self, target: Target, reason: GapReason, detail: str) -> Gap:
        return Gap(
            pod=target.pod,
            role=target.role,
            at_seconds=self.now(),
            reason=reason,
            detail=" ".join(detail.split())[:MAX_DETAIL],
        )

    async def _page(self, url: str) -> tuple[Series, ...]:
        try:
            text = await self._fetch(url)
            # In a thread: a page at the limits takes long enough to delay the lease.
            return await asyncio.to_thread(parse, text, limits=self.limits.page)
        except (aiohttp.ClientError, OSError) as error:
            raise _Refused(GapReason.UNREACHABLE, f"can't be read: {error or type(error).__name__}") from None
        except Malformed as error:
            raise _Refused(GapReason.MALFORMED, f"isn't Prometheus text: {error}") from None

    async def _fetch(self, url: str) -> str:
        headers = {"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "identity"}
        async with self.session.get(url, allow_redirects=False, headers=headers) as response:
            if response.status != 200:  # noqa: PLR2004 -- HTTP
                raise _Refused(GapReason.BAD_STATUS, f"answered HTTP {response.status}")
            body = bytearray()
            async for chunk in response.content.iter_chunked(_CHUNK):
                body += chunk
                if len(body) > self.limits.body_bytes:
                    raise _Refused(GapReason.TOO_LARGE, f"sent more than {self.limits.body_bytes} bytes")
        return body.decode("utf-8", errors="replace")


class _Refused(Exception):  # noqa: N818 -- becomes a Gap
    def __init__(self, reason: GapReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def open_session() -> aiohttp.ClientSession:
    """A session for scrapes only: no proxy of the environment, no cookies, no compression, no connection kept."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),  # the scraper's own slots are the limit
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # a small compressed body could unfold to any size
        trust_env=False,
    )
