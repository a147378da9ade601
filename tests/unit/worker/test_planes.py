"""What a rank that holds pages is made of, in either mode."""

import pytest

from pdworker import config, rank
from pdworker.config import Config, Role
from pdworker.metrics import Metrics

ENV = {
    "POD_IP": "10.244.1.7",
    "PD_LAYERS": "3",
    "PD_KV_LORA_RANK": "16",
    "PD_QK_ROPE_HEAD_DIM": "8",
    "PD_KV_CACHE_DTYPE": "bfloat16",
    "PD_PAGE_SIZE": "4",
    "PD_TENSOR": "1",
    "PD_TRANSPORT": "TCP",
    "PD_POOL_TOKENS": "40",
}


class FakeEngine:
    """Remembers which memory it was told of."""

    session = "10.244.1.7:15000"

    def __init__(self, host: str, *, protocol: str, devices: str = "") -> None:
        self.started_with = (host, protocol, devices)
        self.registered: list[tuple[int, int]] = []

    def register(self, address: int, length: int) -> None:
        self.registered.append((address, length))


def a_config(role: Role) -> Config:
    return config.read(ENV | {"PD_ROLE": role})


def a_plane(role: Role, monkeypatch: pytest.MonkeyPatch) -> rank.Plane:
    monkeypatch.setattr(rank, "MooncakeEngine", FakeEngine)
    return rank._data_plane(a_config(role), Metrics(role=role, tp_rank=0, cp_rank=0), 0)


@pytest.mark.parametrize("role", list(Role))
def test_the_factor_is_there_and_unresolved_in_every_mode(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    factor = a_plane(role, monkeypatch).factor
    assert factor.value is None
    assert factor.get() == 1


@pytest.mark.parametrize("role", list(Role))
def test_the_engine_advertises_the_pods_address_and_knows_every_layer(
    role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = a_plane(role, monkeypatch)
    engine = plane.engine
    assert isinstance(engine, FakeEngine)
    assert engine.started_with == ("10.244.1.7", "tcp", "")
    # Ten pages of 4 tokens x 24 elements x 2 bytes in each of three layers.
    assert engine.registered == [(address, 1920) for address in plane.pool.addresses()]
    assert len(engine.registered) == 3


@pytest.mark.parametrize(("role", "name"), [(Role.PREFILL, "prefill"), (Role.DECODE, "decode")])
def test_the_expected_factor_is_a_series_only_when_it_was_told(role: Role, name: str) -> None:
    told = config.read(ENV | {"PD_ROLE": role, "PD_EXPECTED_REPLICA_FACTOR": "4"})
    line = f'pd_expected_replica_factor{{cp_rank="0",role="{name}",tp_rank="0"}} 4.0'
    assert line in rank._metrics(told, rank=0).page()
    assert "pd_expected_replica_factor" not in rank._metrics(a_config(role), rank=0).page()
