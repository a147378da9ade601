"""Pairs of other widths, readiness, and a decode pod that dies: real processes and the real engine on loopback.

Both roles are asked directly, as a router asks them.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.slow

START_SECONDS = 120.0  # seven ranks import torch on two shared cores; seen: 33 s at a load of 20
STOP_SECONDS = 10.0
DEADLINE_SECONDS = 4  # of both roles: two tests wait for it, and every other request must be served within it
NETWORK = f"127.{201 + os.getpid() % 50}.{os.getpid() // 50 % 250}"  # two runs on one host don't meet
ROOMS = count(1)
COMMON = {
    "PD_ALLOW_LOOPBACK": "1",
    "PD_ATTENTION": "MLA",
    "PD_BACKEND": "Mooncake",
    "PD_LAYERS": "4",
    "PD_KV_LORA_RANK": "64",
    "PD_QK_ROPE_HEAD_DIM": "32",
    "PD_KV_CACHE_DTYPE": "bfloat16",
    "PD_PAGE_SIZE": "16",
    "PD_TRANSPORT": "TCP",
    "PD_HTTP_PORT": "30000",
    "PD_BOOTSTRAP_TIMEOUT_SECONDS": str(DEADLINE_SECONDS),
    "PD_WAITING_TIMEOUT_SECONDS": str(DEADLINE_SECONDS),
    # The engine listens on every address of the host: not where the ranks of any pod listen.
    "MC_MIN_RPC_PORT": "17000",
    "MC_MAX_RPC_PORT": "18999",
    "MC_LOG_LEVEL": "ERROR",
    "MC_TCP_PROGRESS_TIMEOUT_SEC": "3",
    "MC_TRANSFER_TIMEOUT": "10",
}
ONE_COPY = 196_608  # 256 tokens are 16 pages of 16 x 96 x 2 bytes in 4 layers


@dataclass(slots=True)
class Pod:
    """One worker pod: an address of its own on this host."""

    host: str
    log: Path
    env: dict[str, str]
    process: subprocess.Popen[bytes]

    def get(self, path: str, *, port: int = 30000) -> tuple[int, str]:
        """Status and text; status 0 while nobody listens."""
        return self._ask("GET", path, port=port)

    def post(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, text = self._ask("POST", "/generate", body=json.dumps(body))
        return status, json.loads(text or "{}")

    def total(self, name: str) -> float:
        """The sum of a metric over this pod's ranks."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return sum(sample.value for family in families for sample in family.samples if sample.name == name)

    def by_rank(self, name: str) -> dict[str, float]:
        families = text_string_to_metric_families(self.get("/metrics")[1])
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return {sample.labels["tp_rank"]: sample.value for sample in samples}

    def ranks(self) -> list[int]:
        """The process ids of its ranks."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def _ask(self, method: str, path: str, *, port: int = 30000, body: str | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.host, port, timeout=20)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class Pods:
    """One prefill pod of two ranks, and decode pods of four and of one."""

    prefill: Pod
    wide: Pod
    narrow: Pod
    first_answers: list[tuple[int, str]]


def start(number: int, role: str, tensor: int, *, folder: Path) -> Pod:
    host, log = f"{NETWORK}.{number}", folder / f"{role}-{number}.log"
    env = os.environ | COMMON | {"POD_IP": host, "PD_ROLE": role, "PD_TENSOR": str(tensor)}
    return Pod(host, log, env, launch(env, log))


def launch(env: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        command = [sys.executable, "-m", "pdworker", "serve"]
        return subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)


def stop(pod: Pod) -> int:
    pod.process.terminate()
    try:
        return pod.process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pod.process.kill()
        return pod.process.wait()


def until(reached: Callable[[], bool], *, pod: Pod, seconds: float = START_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end or pod.process.poll() is not None:
            pytest.fail(f"{pod.host}, status {pod.process.poll()}: {pod.get('/ready')}\n{pod.log.read_text()}")
        time.sleep(0.05)


def is_ready(pod: Pod) -> Callable[[], bool]:
    return lambda: pod.get("/ready")[0] == 200


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    folder = tmp_path_factory.mktemp("pods")
    with ExitStack() as stack:
        started = []
        for number, (role, tensor) in enumerate((("prefill", 2), ("decode", 4), ("decode", 1)), start=1):
            started.append(start(number, role, tensor, folder=folder))
            stack.callback(stop, started[-1])
        prefill, wide, narrow = started
        answers: list[tuple[int, str]] = []
        until(lambda: answers.append(prefill.get("/ready")) or answers[-1][0] == 200, pod=prefill)  # type: ignore[func-returns-value]
        for pod in (wide, narrow):
            until(is_ready(pod), pod=pod)
        yield Pods(prefill, wide, narrow, answers)


def serve(prefill: Pod, decode: Pod, *, tokens: int = 256) -> tuple[dict[str, Any], dict[str, Any]]:
    """One request through a pair, as a router does it: both at once, with the same room."""
    body = {
        "prompt_tokens": tokens,
        "bootstrap_host": prefill.host,
        "bootstrap_port": 8998,
        "bootstrap_room": next(ROOMS),
    }
    with ThreadPoolExecutor(2) as threads:
        asked: list[Future[tuple[int, dict[str, Any]]]] = [threads.submit(pod.post, body) for pod in (prefill, decode)]
        return asked[0].result()[1], asked[1].result()[1]


@pytest.mark.case("C-06")
@pytest.mark.case("C-11")
def test_prefill_is_not_ready_before_its_ranks_are_and_says_why(pods: Pods) -> None:
    statuses = [status for status, _ in pods.first_answers if status]
    assert statuses[0] == 503
    assert statuses == sorted(statuses, reverse=True), "ready, and then not any more"
    reasons = {text for status, text in pods.first_answers if status == 503}
    assert "ranks [0, 1] of 2 have not initialised" in reasons


def test_two_senders_feed_two_decode_ranks_each(pods: Pods) -> None:
    before = pods.wide.total("pd_kv_wire_bytes_total")
    logical = pods.prefill.total("pd_kv_logical_bytes_total")
    sent, received = serve(pods.prefill, pods.wide)
    assert sent["transfer"]["replica_factor"] == 2
    assert received["transfer"]["wire_bytes"] == 4 * ONE_COPY
    assert sent["transfer"]["reported_bytes"] == 4 * ONE_COPY
    assert pods.wide.total("pd_kv_wire_bytes_total") - before == 4 * ONE_COPY
    assert pods.prefill.total("pd_kv_logical_bytes_total") - logical == 2 * ONE_COPY
    assert pods.prefill.by_rank("pd_resolved_replica_factor") == {"0": 2, "1": 2}


def test_a_narrower_decode_gets_one_copy_and_the_dummy_sends_nothing(pods: Pods) -> None:
    before = pods.prefill.by_rank("pd_kv_reported_bytes_total")
    sent, received = serve(pods.prefill, pods.narrow)
    assert sent["transfer"]["replica_factor"] == 1
    assert sent["transfer"]["reported_bytes"] == received["transfer"]["wire_bytes"] == ONE_COPY
    after = pods.prefill.by_rank("pd_kv_reported_bytes_total")
    assert {rank: after[rank] - before[rank] for rank in after} == {"0": ONE_COPY, "1": 0}


def test_a_request_that_decode_alone_gets_fails_in_time_with_its_reason(pods: Pods) -> None:
    start = time.monotonic()
    body = {"prompt_tokens": 16, "bootstrap_host": pods.prefill.host, "bootstrap_room": next(ROOMS)}
    status, said = pods.narrow.post(body)
    assert (status, said["error"]["reason"]) == (500, "WaitingTimeout")
    assert time.monotonic() - start < DEADLINE_SECONDS + 5


def test_a_dead_decode_pod_fails_requests_in_time_and_a_restarted_one_heals_them(pods: Pods) -> None:
    assert "transfer" in serve(pods.prefill, pods.narrow)[1]
    (orphan,) = pods.narrow.ranks()
    pods.narrow.process.kill()
    pods.narrow.process.wait()
    until(lambda: not Path(f"/proc/{orphan}").exists(), pod=pods.prefill, seconds=5)

    start = time.monotonic()
    sent, received = serve(pods.prefill, pods.narrow)
    assert sent["error"]["reason"] == "BootstrapTimeout"
    assert received == {}, "nobody listens there"
    assert time.monotonic() - start < DEADLINE_SECONDS + 5

    pods.narrow.process = launch(pods.narrow.env, pods.narrow.log)
    until(is_ready(pods.narrow), pod=pods.narrow)
    sent, received = serve(pods.prefill, pods.narrow)
    assert received["transfer"]["wire_bytes"] == sent["transfer"]["reported_bytes"] == ONE_COPY


def test_a_killed_rank_ends_its_pod_and_sigterm_ends_the_others_without_a_trace(pods: Pods) -> None:
    ranks = [pid for pod in (pods.prefill, pods.wide, pods.narrow) for pid in pod.ranks()]
    assert len(ranks) == 7
    os.kill(pods.narrow.ranks()[0], signal.SIGKILL)
    assert pods.narrow.process.wait(STOP_SECONDS) == 1
    assert "rank 0 ended with status -9" in pods.narrow.log.read_text().splitlines()[-1]
    assert [stop(pods.prefill), stop(pods.wide)] == [0, 0]
    assert [pid for pid in ranks if Path(f"/proc/{pid}").exists()] == []
