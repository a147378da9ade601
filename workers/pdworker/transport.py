"""Which transport is really in use.

The engine says it started over RDMA also where there is no device, so it isn't asked.
"""

import os
from pathlib import Path

from pdworker.config import Transport

DEVICES = Path("/dev/infiniband")


def rdma_devices(folder: Path = DEVICES) -> tuple[str, ...]:
    """The verbs devices this container may open, by name."""
    return tuple(sorted(each.name for each in folder.glob("uverbs*") if os.access(each, os.R_OK | os.W_OK)))


def in_use(asked: Transport, *, devices: tuple[str, ...]) -> Transport:
    """TCP or RDMA: RDMA only where it is wanted and a device can be opened."""
    return Transport.RDMA if asked is not Transport.TCP and devices else Transport.TCP
