"""Base images out of Debian's packages, and the image builder."""

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdcluster.settings import Settings

# From nothing, with 316 packages for torch, 2 minutes on two idle cores.
BUILD_TIMEOUT_S = 1_200.0
SUITE = "bookworm"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one base image is made of."""

    packages: tuple[str, ...]
    # Never unpacked.
    left_out: tuple[str, ...]
    # Removed afterwards: a Python package whose files are missing when it is set up does not install.
    removed: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Return a tag that changes with the recipe."""
        parts = [SUITE, self.packages, self.left_out, self.removed]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


_PYTHON = Recipe(
    packages=("python3", "python3-venv", "ca-certificates"),
    left_out=("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/include/*", "*.a"),
)
# Debian's torch brings 316 packages; what the worker doesn't load of them is 400 MB that need not go to the cluster.
_TORCH = Recipe(
    packages=(*_PYTHON.packages, "python3-torch", "libibverbs1", "libnuma1", "libcurl4"),
    left_out=(
        *_PYTHON.left_out,
        "/usr/share/fonts/*",
        "/usr/share/icons/*",
        "/usr/share/gdal/*",
        "/usr/share/proj/*",
        "/usr/lib/libtorch-test/*",
        "/usr/lib/x86_64-linux-gnu/dri/*",
        "/usr/lib/x86_64-linux-gnu/libLLVM*",
        "/usr/lib/x86_64-linux-gnu/libz3*",
        "/usr/lib/x86_64-linux-gnu/mfx/*",
    ),
    removed=("hypothesis", "sympy", "torch/bin/*test*", "torch/include", "*/tests"),
)
RECIPES: Mapping[str, Recipe] = {"python": _PYTHON, "torch": _TORCH}


def recipe() -> str:
    """Return a digest of how the bases are made."""
    return "-".join(each.digest for each in RECIPES.values())


def bootstrap_command(base: Recipe, archive: Path) -> list[str]:
    """Return the command that makes a base's files, from whatever mirror this machine is set up for."""
    options = ["--quiet", "--mode=root", "--variant=minbase", '--aptopt=APT::Install-Recommends "false"']
    options += [f"--dpkgopt=path-exclude={pattern}" for pattern in base.left_out]
    if base.removed:
        folders = " ".join(f'"$1"/usr/lib/python3/dist-packages/{name}' for name in base.removed)
        options.append(f"--customize-hook=rm -rf {folders}")
    return ["mmdebstrap", *options, f"--include={','.join(base.packages)}", SUITE, str(archive)]


@dataclass(frozen=True, slots=True)
class Builder:
    """buildah with a store of its own in the cache folder."""

    settings: Settings

    def run(self, *args: str) -> str:
        """Run buildah and return what it printed."""
        store = self.settings.cache / "buildah"
        command = ["buildah", f"--root={store}", f"--runroot={store}-run", "--storage-driver=overlay", *args]
        return _run(command)

    def has(self, name: str) -> bool:
        """Tell whether the store holds an image."""
        return name in self.run("images", "--format", "{{.Name}}:{{.Tag}}").split()

    def build(self, root: Path, *, target: str, name: str, base: str, worker_base: str) -> None:
        """Build one target of the project's Dockerfile."""
        arguments = (f"BASE={base}", f"WORKER_BASE={worker_base}", "WORKER_EXTRA=worker-cpu")
        self.run(
            "bud",
            "--layers",
            "--isolation=chroot",
            "--network=host",
            *self._certificates(),
            *(f"--build-arg={argument}" for argument in arguments),
            f"--target={target}",
            f"--tag={name}",
            str(root),
        )

    def export(self, name: str, directory: Path) -> None:
        """Write an image's manifest, configuration and layers, uncompressed, into a folder."""
        self.run("push", "--quiet", "--disable-compression", "--format=oci", name, f"dir:{directory}")

    @staticmethod
    def _certificates() -> list[str]:
        """Return the mount of this machine's certificate authorities: its package registries may need one of them."""
        bundle = os.environ.get("PIP_CERT") or "/etc/ssl/certs/ca-certificates.crt"
        return [f"--volume={bundle}:/etc/ssl/certs/ca-certificates.crt:ro"] if Path(bundle).exists() else []


def ensure_base(builder: Builder, kind: str) -> str:
    """Return the name of a base image, made now if the store lacks it."""
    name = f"localhost/pd-base-{kind}:{RECIPES[kind].digest}"
    if builder.has(name):
        return name
    start = time.monotonic()
    print(f"images: making the base {name} of Debian's packages (a minute or two) ...", flush=True)
    archive = builder.settings.cache / f"base-{kind}.tar"
    _run(bootstrap_command(RECIPES[kind], archive))
    container = builder.run("from", "scratch").strip()
    try:
        builder.run("add", "--quiet", container, str(archive), "/")
        builder.run("commit", "--quiet", "--disable-compression", container, name)
    finally:
        builder.run("rm", container)
        archive.unlink()
    print(f"images: {name} took {time.monotonic() - start:.0f} s", flush=True)
    return name


def _run(command: list[str]) -> str:
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False
    )
    if result.returncode != 0:
        said = (result.stdout + result.stderr)[-3000:]
        raise RuntimeError(f"{' '.join(command)}: failed ({result.returncode}); the end of what it said:\n{said}")
    return result.stdout
