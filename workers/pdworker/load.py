"""`pd-worker load`: drive a router, and say what was moved and how fast."""

import asyncio
import json
import statistics
import time
from dataclasses import asdict, dataclass
from typing import Any

import aiohttp


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of requests came to. The rate is of wire bytes over the whole run, waiting included."""

    requests: int
    failures: int
    logical_bytes: int
    reported_bytes: int
    wire_bytes: int
    replica_factors: list[int]
    request_seconds_median: float | None
    request_seconds_max: float | None
    transfer_bytes_per_second_median: float | None
    run_bytes_per_second: float
    errors: list[str]

    def text(self) -> str:
        """For a person."""
        gigabytes = self.run_bytes_per_second / 1e9
        lines = [
            f"{self.requests} requests, {self.failures} failed",
            f"bytes: logical {self.logical_bytes}, reported {self.reported_bytes}, wire {self.wire_bytes}",
            f"replica factor: {', '.join(map(str, self.replica_factors)) or 'unknown'}",
            f"rate over the run: {gigabytes:.2f} GB/s of wire bytes",
            *(f"failed: {error}" for error in self.errors),
        ]
        return "\n".join(lines)

    def json(self) -> str:
        """For a program."""
        return json.dumps(asdict(self))


async def run(url: str, *, requests: int, concurrency: int, prompt_tokens: int, timeout_s: float) -> Summary:
    """Send the requests, so many at a time."""
    turns = asyncio.Semaphore(concurrency)
    start = time.perf_counter()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout_s)) as session:

        async def one() -> tuple[float, dict[str, Any] | str]:
            async with turns:
                began = time.perf_counter()
                said = await _ask(session, url, prompt_tokens)
                return time.perf_counter() - began, said

        answers = await asyncio.gather(*(one() for _ in range(requests)))
    return summarise(answers, seconds=time.perf_counter() - start)


def summarise(answers: list[tuple[float, dict[str, Any] | str]], *, seconds: float) -> Summary:
    """The summary of answers: (seconds, the `transfer` part or why there is none)."""
    moved = [said for _, said in answers if isinstance(said, dict)]
    errors = [said for _, said in answers if isinstance(said, str)]
    times = [each for each, said in answers if isinstance(said, dict)]
    rates = [said["wire_bytes_per_second"] for said in moved if said.get("wire_bytes_per_second")]
    return Summary(
        requests=len(answers),
        failures=len(errors),
        logical_bytes=sum(said["logical_bytes"] for said in moved),
        reported_bytes=sum(said["reported_bytes"] for said in moved),
        wire_bytes=sum(said["wire_bytes"] for said in moved),
        replica_factors=sorted({said["replica_factor"] for said in moved if said["replica_factor"] is not None}),
        request_seconds_median=statistics.median(times) if times else None,
        request_seconds_max=max(times, default=None),
        transfer_bytes_per_second_median=statistics.median(rates) if rates else None,
        run_bytes_per_second=sum(said["wire_bytes"] for said in moved) / seconds,
        errors=errors[:5],  # the rest say the same
    )


async def _ask(session: aiohttp.ClientSession, url: str, prompt_tokens: int) -> dict[str, Any] | str:
    try:
        async with session.post(f"{url}/generate", json={"prompt_tokens": prompt_tokens}) as answer:
            said: dict[str, Any] = await answer.json()
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as failed:
        return repr(failed)
    if "error" in said:
        return str(said["error"].get("message", said["error"]))
    transfer: dict[str, Any] = said["transfer"]
    return transfer
