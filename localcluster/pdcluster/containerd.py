"""Images in the cluster's containerd."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from pdcluster import archive, manifests, node, processes
from pdcluster.settings import Settings

# A torch image of 700 MB takes about 15 s on two busy cores.
IMPORT_TIMEOUT_S = 300.0
BUSYBOX = Path("/bin/busybox")
BUSYBOX_IMAGE = "localhost/busybox:1"
APPLETS = ("cat", "echo", "env", "ls", "nc", "nslookup", "ping", "sh", "sleep", "wget")


def ctr(settings: Settings, *args: str) -> str:
    """Run containerd's client in the namespace of Kubernetes' images."""
    result = subprocess.run(
        ["ctr", f"--address={settings.containerd_socket}", "--namespace=k8s.io", *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=IMPORT_TIMEOUT_S,
        check=False,
        env=processes.environment(settings),
    )
    if result.returncode != 0:
        raise RuntimeError(f"ctr {' '.join(args)}: {result.stderr.strip()}")
    return result.stdout


@contextlib.contextmanager
def importing(settings: Settings) -> Iterator[IO[bytes]]:
    """Import the archive that is written to the stream: a large image then needs no second copy on disk."""
    command = ["ctr", f"--address={settings.containerd_socket}", "--namespace=k8s.io", "images", "import", "-"]
    environment = processes.environment(settings)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as importer:
        with cast("IO[bytes]", importer.stdin) as stream:
            yield stream
        if importer.wait(timeout=IMPORT_TIMEOUT_S) != 0:
            raise RuntimeError(f"{' '.join(command)}: failed ({importer.returncode})")


def references(settings: Settings) -> set[str]:
    """Return the names of all images."""
    return set(ctr(settings, "images", "list", "--quiet").split())


def ensure_base_images(settings: Settings) -> bool:
    """Import the images that the cluster itself uses, and a busybox for tests; return whether any was missing."""
    present = references(settings)
    missing = [name for name in _RECIPES if name not in present]
    for name in missing:
        programs, command, links = _RECIPES[name]
        sources = {place: settings.binaries / source for place, source in programs.items()}
        path = settings.run / f"{Path(command[0]).name}.tar"
        archive.write(path, reference=name, programs=sources, command=command, links=links)
        ctr(settings, "images", "import", str(path))
        path.unlink()
    return bool(missing)


_RECIPES: dict[str, tuple[dict[str, str], list[str], dict[str, str]]] = {
    node.PAUSE_IMAGE: ({"pause": "pause"}, ["/pause"], {}),
    manifests.COREDNS_IMAGE: ({"coredns": "coredns"}, ["/coredns"], {}),
    BUSYBOX_IMAGE: ({"bin/busybox": str(BUSYBOX)}, ["/bin/sh"], {f"bin/{a}": "busybox" for a in APPLETS}),
}
