from pathlib import Path

import pytest

from pdcluster import processes
from pdcluster.processes import is_part
from pdcluster.settings import Settings

CLUSTER = Settings("pdcluster", 0, Path("/h/.cache/pd-operator"))


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["/h/bin/kubelet", "--config=/var/lib/pdcluster/config/kubelet.json"], id="by a flag's path"),
        pytest.param(["/usr/bin/containerd-shim-runc-v2", "-address", "/run/pdcluster/containerd.sock"], id="a shim"),
    ],
)
def test_a_part_of_the_cluster_is_recognised(argv: list[str]) -> None:
    assert is_part(argv, CLUSTER)


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param([], id="a kernel thread"),
        pytest.param(["tail", "-f", "/var/lib/pdcluster/logs/etcd.log"], id="somebody who reads a log"),
        pytest.param(["vim", "/run/pdcluster/processes/etcd.json"], id="an editor"),
        pytest.param(["containerd", "--config=/etc/containerd/config.toml"], id="the machine's own containerd"),
        pytest.param(["kubelet", "--config=/var/lib/pdcluster2/config/kubelet.json"], id="another cluster's kubelet"),
        pytest.param(["etcd", "--data-dir=/tmp/pd-apiserver-x/etcd"], id="a test's etcd"),
        pytest.param(["/var/lib/pdcluster/etcd"], id="a program with no argument of ours"),
    ],
)
def test_no_other_process_is_taken_for_a_part(argv: list[str]) -> None:
    assert not is_part(argv, CLUSTER)


def test_parts_get_no_variable_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    assert set(processes.environment(CLUSTER)) == {"PATH", "HOME", "LANG"}


def test_a_part_enters_both_namespaces() -> None:
    assert processes.inside(CLUSTER, ["etcd", "--name=a"]) == [
        "nsenter",
        "--net=/run/pdcluster/ns/net",
        "--mount=/run/pdcluster/ns/mnt",
        "--",
        "etcd",
        "--name=a",
    ]
