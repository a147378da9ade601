"""Control groups: version 1 and version 2, detected and never assumed."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

# What the kubelet insists on finding below its root group.
CONTROLLERS = ("cpu", "cpuset", "memory", "pids", "hugetlb", "io")


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """The mounted hierarchies: one of version 2, or one per controller of version 1."""

    unified: bool
    roots: tuple[Path, ...]

    @property
    def tracker(self) -> Path:
        """The hierarchy by which our processes are found again."""
        return next((root for root in self.roots if root.name == "pids"), self.roots[0])


def parse_mounts(mounts: str) -> Hierarchies:
    """Read the hierarchies from the text of /proc/mounts.

    A hybrid machine mounts version 2 without controllers beside version 1: it counts as version 1, and the version 2
    mount is one more place where groups are made and must be removed.
    """
    rows = [line.split()[1:3] for line in mounts.splitlines()]
    legacy = dict.fromkeys(Path(path) for path, kind in rows if kind == "cgroup")
    unified = dict.fromkeys(Path(path) for path, kind in rows if kind == "cgroup2")
    return Hierarchies(unified=not legacy, roots=(*legacy, *unified))


def detect() -> Hierarchies:
    """Read this machine's hierarchies."""
    return parse_mounts(Path("/proc/mounts").read_text())


def create(group: str) -> None:
    """Make GROUP, and a `system` group in it for our own processes, in every hierarchy."""
    hierarchies = detect()
    for root in hierarchies.roots:
        directory = root / group.strip("/")
        if hierarchies.unified:
            _delegate(root)
        elif root.name == "cpuset":
            # A new cpuset is empty and takes no process unless it copies its parent's.
            with contextlib.suppress(OSError):
                (root / "cgroup.clone_children").write_text("1")
        directory.mkdir(exist_ok=True)
        if hierarchies.unified:
            _delegate(directory)
    (hierarchies.tracker / group.strip("/") / "system").mkdir(exist_ok=True)


def join(group: str, pid: int) -> None:
    """Put a process below GROUP."""
    (detect().tracker / group.strip("/") / "system" / "cgroup.procs").write_text(str(pid))


def members(group: str) -> set[int]:
    """Return every process below GROUP, pods included."""
    found: set[int] = set()
    for directory, _, _ in os.walk(detect().tracker / group.strip("/")):
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in (Path(directory) / "cgroup.procs").read_text().split())
    return found


def remains(group: str) -> list[Path]:
    """Return the folders of GROUP that exist."""
    return [path for root in detect().roots if (path := root / group.strip("/")).is_dir()]


def remove(group: str) -> None:
    """Remove GROUP and all below it, which must be empty of processes."""
    for top in remains(group):
        for directory, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(FileNotFoundError):
                Path(directory).rmdir()


def _delegate(directory: Path) -> None:
    available = (directory / "cgroup.controllers").read_text().split()
    for controller in CONTROLLERS:
        if controller in available:
            (directory / "cgroup.subtree_control").write_text(f"+{controller}")
