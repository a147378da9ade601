"""The transport is what can be used, not what was asked for: the engine says RDMA also where no device is."""

from pathlib import Path

import pytest

from pdworker.config import Transport
from pdworker.transport import in_use, rdma_devices


@pytest.mark.parametrize(
    ("asked", "devices", "used"),
    [
        pytest.param(Transport.TCP, (), Transport.TCP, id="TCP as asked"),
        pytest.param(Transport.TCP, ("uverbs0",), Transport.TCP, id="TCP as asked though there is a device"),
        pytest.param(Transport.RDMA, ("uverbs0",), Transport.RDMA, id="RDMA over its device"),
        pytest.param(Transport.RDMA, (), Transport.TCP, id="RDMA asked for without a device is TCP"),
        pytest.param(Transport.AUTO, ("uverbs0",), Transport.RDMA, id="either: RDMA where it can"),
        pytest.param(Transport.AUTO, (), Transport.TCP, id="either: TCP where it must"),
    ],
)
def test_in_use(asked: Transport, devices: tuple[str, ...], used: Transport) -> None:
    assert in_use(asked, devices=devices) is used


def test_devices_are_the_verbs_devices_by_name(tmp_path: Path) -> None:
    for name in ("uverbs1", "uverbs0", "rdma_cm"):
        (tmp_path / name).touch()
    assert rdma_devices(tmp_path) == ("uverbs0", "uverbs1")


def test_a_machine_without_infiniband_has_none(tmp_path: Path) -> None:
    assert rdma_devices(tmp_path / "infiniband") == ()
