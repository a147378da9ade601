"""The local cluster itself, on a second instance beside the one that other tests use."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdcluster import cluster, processes, provided
from pdcluster.health import wait_until
from pdcluster.settings import Settings

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
    pytest.mark.skipif(
        provided.find(os.environ) is not None, reason="a given cluster is in use: there is none of ours"
    ),
]

NAME = "pdcrash"
ENVIRONMENT = {**os.environ, "PDCLUSTER_NAME": NAME, "PDCLUSTER_SUBNET": "13"}


@pytest.fixture
def second() -> Iterator[Settings]:
    settings = Settings.from_environment(ENVIRONMENT)
    cluster.down(settings)
    yield settings
    cluster.down(settings)


def traces() -> list[str]:
    """Every trace on this machine, looked for without the help of the code under test."""
    named = re.compile(rf"/{NAME}\b|{NAME}-h")
    found = [line for line in Path("/proc/self/mounts").read_text().splitlines() if named.search(line)]
    found += [str(p) for p in Path("/sys/class/net").iterdir() if p.name.startswith(NAME)]
    found += [str(p) for top in ("/run", "/var/lib", "/run/netns") for p in Path(top).glob(f"{NAME}*")]
    found += [str(p) for p in Path("/sys/fs/cgroup").glob(f"*/{NAME}")]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            ended = "\nState:\tZ" in (process / "status").read_text()  # only its parent still knows of it
            places = (process / "cmdline").read_text() + (process / "cgroup").read_text()
            if named.search(places) and not ended:
                found.append(f"process {process.name}")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def kill(settings: Settings, part: str) -> None:
    pid = processes.running(settings, part)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: processes.running(settings, part) is None, seconds=10)


def test_a_killed_part_is_started_anew_and_down_after_more_kills_leaves_nothing(second: Settings) -> None:
    cluster.up(second)
    etcd = processes.running(second, "etcd")
    kill(second, "kubelet")
    assert cluster.up(second) == "started kubelet"
    assert processes.running(second, "etcd") == etcd
    assert cluster.up(second) == "running already"
    for part in ("containerd", "kubelet", "etcd"):
        kill(second, part)
    cluster.down(second)
    assert traces() == []


def test_down_after_a_start_that_was_killed_halfway_leaves_nothing(second: Settings) -> None:
    with subprocess.Popen([sys.executable, "-m", "pdcluster", "up"], env=ENVIRONMENT) as start:
        assert wait_until(lambda: processes.running(second, "kube-apiserver") is not None, seconds=60)
        start.kill()
    assert any("process" in trace for trace in traces())
    cluster.down(second)
    assert traces() == []


def test_nobody_waits_for_the_output_of_a_cluster_that_runs(second: Settings) -> None:
    command = [sys.executable, "-m", "pdcluster", "up"]
    result = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert cluster.troubles(second) == []
