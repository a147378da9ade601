import tomllib
from pathlib import Path

import pytest

from pdcluster import bases, controlplane, manifests, node, parts
from pdcluster.processes import is_part
from pdcluster.settings import Settings

CLUSTER = Settings("pdcluster", 3, Path("/h/.cache/pd-operator"))


def test_containerd_keeps_everything_in_the_clusters_folders() -> None:
    config = tomllib.loads(node.containerd_toml(CLUSTER))
    assert config["root"] == "/var/lib/pdcluster/containerd"
    assert config["state"] == "/run/pdcluster/containerd"
    assert config["grpc"]["address"] == "/run/pdcluster/containerd.sock"


def test_containerd_starts_sandboxes_without_the_right_to_lower_scores() -> None:
    config = tomllib.loads(node.containerd_toml(CLUSTER))
    assert config["plugins"]["io.containerd.grpc.v1.cri"]["restrict_oom_score_adj"] is True


def test_a_full_disk_evicts_nothing() -> None:
    config = node.kubelet_configuration(CLUSTER)
    assert set(config["evictionHard"].values()) == {"0%"}
    assert config["imageGCHighThresholdPercent"] == 100


def test_kubelet_refuses_whoever_it_does_not_know() -> None:
    config = node.kubelet_configuration(CLUSTER)
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["authorization"] == {"mode": "Webhook"}


def test_pods_find_cluster_dns_inside_the_service_subnet() -> None:
    assert node.kubelet_configuration(CLUSTER)["clusterDNS"] == ["10.215.3.10"]
    assert manifests.build(CLUSTER.dns_address)[-1]["spec"]["clusterIP"] == "10.215.3.10"


def test_the_pod_network_is_the_one_that_the_controllers_know() -> None:
    ranges = node.network_conflist(CLUSTER)["plugins"][0]["ipam"]["ranges"]
    assert ranges == [[{"subnet": "10.214.3.0/24"}]]
    assert "--cluster-cidr=10.214.3.0/24" in controlplane.controller_manager_command(CLUSTER.plane)


@pytest.mark.parametrize("flag", ["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"])
def test_the_api_server_authorises(flag: str) -> None:
    assert flag in controlplane.apiserver_command(CLUSTER.plane)


def test_every_part_comes_after_those_it_needs() -> None:
    assert [part.name for part in parts.parts(CLUSTER)] == [
        "containerd",
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
    ]


def test_every_part_is_recognised_by_its_own_command_line() -> None:
    for part in parts.parts(CLUSTER):
        assert is_part(part.command(), CLUSTER), part.name


def test_a_bases_tag_changes_with_its_packages() -> None:
    python, torch = bases.RECIPES["python"], bases.RECIPES["torch"]
    assert python.digest != torch.digest
    assert bases.recipe() == f"{python.digest}-{torch.digest}"
