"""The cluster's network namespace, with one link to the host and no route out, and its mount namespace."""

import contextlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pdcluster.settings import Settings

# ip, mount and sysctl answer in milliseconds.
COMMAND_TIMEOUT_S = 20.0

# Fixed paths of Kubernetes programs, which no flag moves: in the mount namespace each is a folder of ours.
PRIVATE_FOLDERS = ("/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/var/log/containers", "/run/containerd")


def create(settings: Settings) -> None:
    """Make both namespaces; what is there already is left as it is."""
    folder = settings.run / "ns"
    folder.mkdir(parents=True, exist_ok=True)
    if str(folder) not in mount_points():
        # The kernel pins a mount namespace only on a mount that is not shared with it.
        run("mount", "--bind", str(folder), str(folder))
        run("mount", "--make-private", str(folder))
    if not is_pinned(settings.network_namespace):
        _create_network(settings)
    if not is_pinned(settings.mount_namespace):
        _create_mounts(settings)


def exist(settings: Settings) -> bool:
    """Tell whether both namespaces and the link are there."""
    pinned = is_pinned(settings.network_namespace) and is_pinned(settings.mount_namespace)
    return pinned and Path("/sys/class/net", host_link(settings)).exists()


def is_pinned(path: Path) -> bool:
    """Tell whether a namespace is mounted at PATH."""
    return str(path) in mount_points()


def mount_points() -> list[str]:
    """Return the mount points of this process's own namespace, in the order they were mounted."""
    return [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]


def host_link(settings: Settings) -> str:
    """Return the name of the host's end of the link."""
    return f"{settings.name}-h"


def remove(settings: Settings) -> None:
    """Remove namespaces, link and every mount in our folders; no process may be left in them."""
    link = host_link(settings)
    if Path("/sys/class/net", link).exists():
        run("ip", "link", "delete", link)
    ours = tuple(f"{folder}/" for folder in (settings.run, settings.state))
    for point in reversed(mount_points()):
        if point.startswith(ours):
            run("umount", "--lazy", point)
    if any(point.endswith("/ns/mnt") for point in mount_points()):
        return  # removing a folder takes another cluster's mount on it away
    # Empty folders that only marked a place to mount on; a folder that somebody uses is not empty.
    for folder in PRIVATE_FOLDERS:
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def run(*command: str) -> None:
    """Run a command that must succeed."""
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
    )
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr.strip()}")


def _create_network(settings: Settings) -> None:
    # Not by `ip netns add`, which turns /run/netns into a mount that stays.
    pin, host, prefix = settings.network_namespace, host_link(settings), settings.link.prefixlen
    pin.touch()
    run("unshare", f"--net={pin}", "true")
    if Path("/sys/class/net", host).exists():
        run("ip", "link", "delete", host)
    run("ip", "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", str(pin))
    run("ip", "address", "add", f"{settings.host_address}/{prefix}", "dev", host)
    run("ip", "link", "set", host, "up")
    enter = ("nsenter", f"--net={pin}", "--")
    run(*enter, "ip", "address", "add", f"{settings.node_address}/{prefix}", "dev", "eth0")
    for device in ("lo", "eth0"):
        run(*enter, "ip", "link", "set", device, "up")
    # /proc/sys/net is the network namespace's own.
    run(*enter, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")


def _create_mounts(settings: Settings) -> None:
    pin = settings.mount_namespace
    pin.touch()
    run("unshare", f"--mount={pin}", "--propagation=private", "true")
    for folder in PRIVATE_FOLDERS:
        Path(folder).mkdir(parents=True, exist_ok=True)
    run("nsenter", f"--mount={pin}", "--", "sh", "-ec", mount_script(settings, PRIVATE_FOLDERS))


def mount_script(settings: Settings, folders: Sequence[str]) -> str:
    """Return the shell script that prepares the mount namespace."""
    lines = ["mount --make-rshared /"]  # the kubelet's mounts must reach the containers'
    for folder in folders:
        own = settings.state / "private" / folder.strip("/").replace("/", "-")
        lines += [f"mkdir -p {own}", f"mount --bind {own} {folder}"]
    return "\n".join(lines)
