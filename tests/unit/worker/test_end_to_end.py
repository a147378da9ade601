"""Real processes and the real engine on loopback: prefill tensor 4 context 4, decode tensor 4, a router, load."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.slow

START_SECONDS = 150.0  # eight processes import torch on two shared cores: 10 s alone, over 60 at a load of 25
STOP_SECONDS = 10.0
COMMON = {
    "PD_ALLOW_LOOPBACK": "1",
    "PD_ATTENTION": "MLA",
    "PD_BACKEND": "Mooncake",
    "PD_LAYERS": "3",
    "PD_KV_LORA_RANK": "64",
    "PD_QK_ROPE_HEAD_DIM": "32",
    "PD_KV_CACHE_DTYPE": "bfloat16",
    "PD_PAGE_SIZE": "16",
    "PD_TENSOR": "4",
    "PD_TRANSPORT": "TCP",
    "PD_EXPECTED_REPLICA_FACTOR": "4",
    "PD_HTTP_PORT": "30000",
    # The engine listens on all addresses; its default range has the ports of ranks in it.
    "MC_MIN_RPC_PORT": "17000",
    "MC_MAX_RPC_PORT": "18999",
    "MC_LOG_LEVEL": "ERROR",
    "MC_TCP_PROGRESS_TIMEOUT_SEC": "3",
    "MC_TRANSFER_TIMEOUT": "10",
}
# 256 tokens are 16 pages of 16 x 96 x 2 bytes in 3 layers.
ONE_COPY = 147_456


@dataclass(frozen=True, slots=True)
class Pods:
    """One host, three pods: each has a loopback address of its own."""

    network: str
    processes: dict[str, subprocess.Popen[bytes]]

    def url(self, role: str, path: str = "") -> str:
        return f"http://{self.network}.{('prefill', 'decode', 'router').index(role) + 1}:30000{path}"

    def get(self, role: str, path: str) -> str:
        with urllib.request.urlopen(self.url(role, path), timeout=5) as answer:  # noqa: S310 -- http on loopback
            return str(answer.read().decode())

    def load(self) -> tuple[int, dict[str, object]]:
        command = [sys.executable, "-m", "pdworker", "load", "--url", self.url("router"), "-o", "json"]
        command += ["--requests", "6", "--concurrency", "2", "--prompt-tokens", "256", "--timeout", "30"]
        ran = subprocess.run(command, capture_output=True, check=False, timeout=60)
        return ran.returncode, json.loads(ran.stdout)

    def sums(self, role: str) -> dict[str, float]:
        total: dict[str, float] = {}
        for family in text_string_to_metric_families(self.get(role, "/metrics")):
            for sample in family.samples:
                total[sample.name] = total.get(sample.name, 0) + sample.value
        return total


@contextmanager
def running(folder: Path, **prefill: str) -> Iterator[Pods]:
    # Addresses that follow from the process, so that two runs on one host don't meet.
    network = f"127.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}"
    roles = {
        "prefill": ("serve", {"PD_ROLE": "prefill", "PD_CONTEXT": "4", **prefill}),
        "decode": ("serve", {"PD_ROLE": "decode"}),
        "router": ("router", {"PD_PREFILL_SERVICE": f"{network}.1", "PD_DECODE_SERVICE": f"{network}.2"}),
    }
    pods = Pods(network, {})
    with ExitStack() as stack:
        stack.callback(stop, pods)
        for at, (role, (command, env)) in enumerate(roles.items(), start=1):
            log = stack.enter_context((folder / f"{role}.log").open("wb"))
            pods.processes[role] = subprocess.Popen(
                [sys.executable, "-m", "pdworker", command],
                # A killed supervisor can't remove its folder of sockets: it goes with the test's own.
                env=os.environ | COMMON | env | {"POD_IP": f"{network}.{at}", "TMPDIR": str(folder)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        for role in roles:
            wait_until_ready(pods, role, folder)
        wait_for_a_pair(pods)
        yield pods


def wait_until_ready(pods: Pods, role: str, folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            pods.get(role, "/ready")
        except OSError as unready:
            ended = pods.processes[role].poll()
            if ended is not None or time.monotonic() > end:
                raise AssertionError(
                    f"{role}, status {ended}: {unready}\n{(folder / f'{role}.log').read_text()}"
                ) from None
            time.sleep(0.1)
        else:
            return


def wait_for_a_pair(pods: Pods) -> None:
    """The router looks at its pods every two seconds."""
    end = time.monotonic() + 10
    body = json.dumps({"prompt_tokens": 1}).encode()
    while True:
        request = urllib.request.Request(pods.url("router", "/generate"), data=body)  # noqa: S310 -- http on loopback
        request.add_header("Content-Type", "application/json")
        try:
            urllib.request.urlopen(request, timeout=30).close()  # noqa: S310 -- as above
        except urllib.error.HTTPError as refused:
            with refused:
                if refused.code != 503 or time.monotonic() > end:
                    raise AssertionError(refused.read()) from None
            time.sleep(0.1)
        else:
            return


def stop(pods: Pods) -> None:
    for process in pods.processes.values():
        process.terminate()
    for process in pods.processes.values():
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def children(process: subprocess.Popen[bytes]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(child) for child in listed.read_text().split()]


def gone(pids: list[int], *, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


# A request of one token (one page) proves the pair before the load: 9,216 bytes a copy.
WARM_UP = 9_216


def test_four_copies_travel_and_every_figure_says_so(tmp_path: Path) -> None:
    with running(tmp_path) as pods:
        status, summary = pods.load()
        assert status == 0, summary
        assert summary["failures"] == 0
        assert summary["replica_factors"] == [4]
        assert summary["logical_bytes"] == 6 * ONE_COPY
        assert summary["reported_bytes"] == summary["wire_bytes"] == 24 * ONE_COPY

        sent, received = pods.sums("prefill"), pods.sums("decode")
        assert sent["pd_kv_transfers_total"] == 7
        assert sent["pd_kv_logical_bytes_total"] == 6 * ONE_COPY + WARM_UP
        assert sent["pd_kv_reported_bytes_total"] == 4 * (6 * ONE_COPY + WARM_UP)
        assert received["pd_kv_wire_bytes_total"] == 4 * (6 * ONE_COPY + WARM_UP)
        assert received["pd_kv_pages_corrupt_total"] == 0
        assert sent["pd_resolved_replica_factor"] == 4  # of the one sender: the silent context ranks have none
        assert sent["pd_expected_replica_factor"] == 16  # 4, of each of the four ranks

        route = "/route?prefill_dp_rank=-1&prefill_cp_rank=-1&target_tp_rank=-1&target_pp_rank=-1"
        with urllib.request.urlopen(f"http://{pods.network}.1:8998{route}", timeout=5) as answer:
            topology = json.load(answer)
        assert (topology["attn_tp_size"], topology["attn_cp_size"]) == (1, 4)

        ranks = [rank for role in ("prefill", "decode") for rank in children(pods.processes[role])]
        assert len(ranks) == 8
        stop(pods)
        assert [process.returncode for process in pods.processes.values()] == [0, 0, 0]
        assert gone(ranks, seconds=0)


def test_legacy_accounting_reports_one_copy_while_four_travel_and_a_dead_rank_ends_its_pod(tmp_path: Path) -> None:
    with running(tmp_path, PD_LEGACY_ACCOUNTING="1") as pods:
        status, summary = pods.load()
        assert status == 0, summary
        assert summary["reported_bytes"] == summary["logical_bytes"] == 6 * ONE_COPY
        assert summary["wire_bytes"] == 24 * ONE_COPY
        assert "pd_resolved_replica_factor" not in pods.sums("prefill")

        victim, *others = children(pods.processes["decode"])
        os.kill(victim, signal.SIGKILL)
        assert pods.processes["decode"].wait(STOP_SECONDS) == 1
        assert gone(others, seconds=0)
        last = (tmp_path / "decode.log").read_text().splitlines()[-1]
        assert "ended with status -9" in last

        orphans = children(pods.processes["prefill"])
        pods.processes["prefill"].kill()
        pods.processes["prefill"].wait()
        assert gone(orphans, seconds=5)
