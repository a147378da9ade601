"""Locks between processes: one change of a thing at a time."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold FOLDER/NAME.lock; the kernel lets go of it when this process ends, however it does."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
