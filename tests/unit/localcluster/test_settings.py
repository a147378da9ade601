from pathlib import Path

import pytest

from pdcluster.settings import Settings, SettingsError


def test_the_default_cluster_is_where_its_users_look() -> None:
    settings = Settings.from_environment({"HOME": "/home/dev"})
    assert settings.kubeconfig == Path("/home/dev/.cache/pd-operator/cluster/kubeconfig")
    assert settings.binaries == Path("/home/dev/.cache/pd-operator/bin")
    assert settings.node_address == "10.213.0.2"
    assert settings.dns_address == "10.215.0.10"


def test_the_cache_folder_can_be_elsewhere() -> None:
    settings = Settings.from_environment({"HOME": "/home/dev", "XDG_CACHE_HOME": "/big"})
    assert settings.kubeconfig == Path("/big/pd-operator/cluster/kubeconfig")


def test_a_second_cluster_shares_nothing_with_the_first() -> None:
    first = Settings.from_environment({"HOME": "/h"})
    second = Settings.from_environment({"HOME": "/h", "PDCLUSTER_NAME": "second", "PDCLUSTER_SUBNET": "7"})
    assert second.kubeconfig == Path("/h/.cache/pd-operator/cluster-second/kubeconfig")
    for attribute in ("state", "run", "client", "network_namespace", "cgroup", "link", "pod_subnet", "service_subnet"):
        assert getattr(first, attribute) != getattr(second, attribute), attribute


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("PDCLUSTER_NAME", "a-b", id="a name with a hyphen"),
        pytest.param("PDCLUSTER_NAME", "twelvelettersplus", id="a name too long for a link"),
        pytest.param("PDCLUSTER_NAME", "../etc", id="a name that is a path"),
        pytest.param("PDCLUSTER_SUBNET", "256", id="a subnet that is no octet"),
        pytest.param("PDCLUSTER_SUBNET", "-1", id="a negative subnet"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_name_and_value(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}='{value.replace('.', chr(92) + '.')}': must"):
        Settings.from_environment({"HOME": "/h", name: value})
