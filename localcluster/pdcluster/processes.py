"""Start, recognise and end the cluster's own processes, and never any other."""

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdcluster import cgroups
from pdcluster.health import wait_until
from pdcluster.settings import Settings

# What a component gets to end by itself; then it is killed. etcd, the slowest, takes about a second.
TERM_SECONDS = 10.0
# SIGKILL takes effect at once unless the process is in the kernel, which file systems can hold for a while.
KILL_SECONDS = 20.0

COMPONENTS = frozenset(
    {
        "containerd",
        "containerd-shim-runc-v2",
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
    }
)


@dataclass(frozen=True, slots=True)
class Identity:
    """One process for certain: process ids are used again, a start time of one boot is not."""

    pid: int
    started: int
    boot: str


def identify(pid: int) -> Identity | None:
    """Return who PID is now, or None when no such process runs (a zombie doesn't)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[0] in {"Z", "X"}:
        return None
    return Identity(pid, int(fields[19]), Path("/proc/sys/kernel/random/boot_id").read_text().strip())


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment of every part: nothing of the caller's, so no proxy and no credential gets in."""
    path = f"{settings.binaries}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8"}


def inside(settings: Settings, command: Sequence[str]) -> list[str]:
    """Return COMMAND as it runs in the cluster's namespaces.

    `ip netns exec` would mount /sys anew and hide the control groups.
    """
    namespaces = (f"--net={settings.network_namespace}", f"--mount={settings.mount_namespace}")
    return ["nsenter", *namespaces, "--", *command]


def start(settings: Settings, name: str, command: Sequence[str]) -> None:
    """Start a part in the cluster's namespaces and remember who it is."""
    settings.logs.mkdir(parents=True, exist_ok=True)
    record = _record(settings, name)
    record.parent.mkdir(parents=True, exist_ok=True)
    argv = inside(settings, command)
    # No part may hold the caller's output open: whoever reads it to its end would wait as long as the cluster runs.
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    output = (os.POSIX_SPAWN_OPEN, 1, str(settings.logs / f"{name}.log"), append, 0o644)
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), output, (os.POSIX_SPAWN_DUP2, 1, 2)]
    pid = os.posix_spawnp(argv[0], argv, environment(settings), file_actions=actions, setsid=True)
    cgroups.join(settings.cgroup, pid)
    identity = identify(pid)
    if identity:
        record.write_text(json.dumps({"pid": identity.pid, "started": identity.started, "boot": identity.boot}))


def running(settings: Settings, name: str) -> int | None:
    """Return the pid of a part that still runs."""
    try:
        recorded = Identity(**json.loads(_record(settings, name).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return recorded.pid if identify(recorded.pid) == recorded else None


def stop(settings: Settings, name: str) -> None:
    """End one part: asked first, then killed, and waited for (its port is free only then)."""
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        pid = running(settings, name)
        if pid is None:
            break
        _signal(pid, number)
        wait_until(lambda: running(settings, name) is None, seconds=seconds)
    _record(settings, name).unlink(missing_ok=True)


def is_part(argv: Sequence[str], settings: Settings) -> bool:
    """Tell whether a command line is a part of this cluster: a known program, and a path in our folders."""
    if not argv or Path(argv[0]).name not in COMPONENTS:
        return False
    return any(f"{folder}/" in argument for argument in argv[1:] for folder in (settings.run, settings.state))


def leftovers(settings: Settings) -> set[int]:
    """Return every process of the cluster: by its control group, and by its command line where that is gone."""
    found = cgroups.members(settings.cgroup)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            argv = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if is_part(argv, settings):
            found.add(int(entry.name))
    return {pid for pid in found if identify(pid)}


def end_all(settings: Settings) -> None:
    """Kill every process of the cluster. Nothing is stopped in order: all that they could save goes too."""

    def none_left() -> bool:
        remaining = leftovers(settings)
        for pid in remaining:
            _signal(pid, signal.SIGKILL)
        return not remaining

    if not wait_until(none_left, seconds=KILL_SECONDS):
        raise RuntimeError(f"these processes of {settings.name} don't end: {sorted(leftovers(settings))}")


def _record(settings: Settings, name: str) -> Path:
    return settings.run / "processes" / f"{name}.json"


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
