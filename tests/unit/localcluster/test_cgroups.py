from pathlib import Path

import pytest

from pdcluster.cgroups import Hierarchies, parse_mounts

V1 = """\
proc /proc proc rw 0 0
tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
"""
HYBRID = V1 + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
V2 = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
ROOT = Path("/sys/fs/cgroup")


@pytest.mark.parametrize(
    ("mounts", "expected", "tracker"),
    [
        pytest.param(V1, Hierarchies(unified=False, roots=(ROOT / "memory", ROOT / "pids")), ROOT / "pids", id="v1"),
        pytest.param(
            HYBRID,
            Hierarchies(unified=False, roots=(ROOT / "memory", ROOT / "pids", ROOT / "unified")),
            ROOT / "pids",
            id="hybrid",
        ),
        pytest.param(V2, Hierarchies(unified=True, roots=(ROOT,)), ROOT, id="v2"),
    ],
)
def test_the_hierarchies_are_read_from_the_mounts(mounts: str, expected: Hierarchies, tracker: Path) -> None:
    assert parse_mounts(mounts) == expected
    assert expected.tracker == tracker
