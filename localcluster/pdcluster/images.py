"""The project's two images: built from its Dockerfile, named after their inputs, imported into the cluster.

There is no registry on a developer's machine: the base images are made of Debian's packages, and an image goes from
the build store into containerd as it is, without compression, and without the layers that containerd has.
"""

import hashlib
import json
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from pdcluster import containerd
from pdcluster.bases import Builder, ensure_base
from pdcluster.locks import locked
from pdcluster.settings import Settings

# What an image is made of; README.md only becomes the package's description.
INPUT_FILES = ("Dockerfile", ".dockerignore", "pyproject.toml", "constraints.txt")
INPUT_FOLDERS = ("operator", "workers")
TAG_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Images:
    """The references of the two images."""

    operator: str
    worker: str

    @classmethod
    def tagged(cls, tag: str) -> "Images":
        """Return the local names of the images of one state of the tree."""
        return cls(operator=f"localhost/pd-operator:{tag}", worker=f"localhost/pd-worker:{tag}")


def current(root: Path, *, recipe: str) -> Images:
    """Return the names of the images of the tree as it is now."""
    return Images.tagged(digest_of(((str(p.relative_to(root)), p.read_bytes()) for p in inputs(root)), recipe=recipe))


def inputs(root: Path) -> list[Path]:
    """Return every file that decides what is in the images."""
    sources = [path for folder in INPUT_FOLDERS for path in (root / folder).rglob("*") if path.is_file()]
    kept = [path for path in sources if "__pycache__" not in path.parts and ".egg-info" not in str(path)]
    return [*(root / name for name in INPUT_FILES), *sorted(kept)]


def digest_of(files: Iterable[tuple[str, bytes]], *, recipe: str) -> str:
    """Return a tag for files (name and content) built on bases of one recipe."""
    digest = hashlib.sha256(recipe.encode())
    for name, content in files:
        digest.update(f"\0{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:TAG_LENGTH]


def load(settings: Settings, root: Path, *, recipe: str) -> Images:
    """Build and import what the cluster does not have, and return the names."""
    with locked(settings.cache, "images"):
        return _load(settings, root, current(root, recipe=recipe))


def _load(settings: Settings, root: Path, images: Images) -> Images:
    missing = {images.operator, images.worker} - containerd.references(settings)
    if not missing:
        return images
    builder = Builder(settings)
    base, worker_base = ensure_base(builder, "python"), ensure_base(builder, "torch")
    for target, reference in (("operator", images.operator), ("worker", images.worker)):
        if reference in missing:
            print(f"images: building {reference} ...", flush=True)
            builder.build(root, target=target, name=f"localhost/pd-{target}:build", base=base, worker_base=worker_base)
            _import(settings, builder, source=f"localhost/pd-{target}:build", reference=reference)
    return images


def _import(settings: Settings, builder: Builder, *, source: str, reference: str) -> None:
    with tempfile.TemporaryDirectory(prefix="image-", dir=settings.cache) as directory:
        builder.export(source, Path(directory))
        present = set(containerd.ctr(settings, "content", "list", "--quiet").split())
        with containerd.importing(settings) as stream:
            write_archive(stream, Path(directory), reference=reference, present=present)


def write_archive(stream: IO[bytes], directory: Path, *, reference: str, present: set[str]) -> None:
    """Write an OCI archive of an exported image, leaving out the layers that are PRESENT at the receiver."""
    manifest_bytes = (directory / "manifest.json").read_bytes()
    manifest = json.loads(manifest_bytes)
    digest = f"sha256:{hashlib.sha256(manifest_bytes).hexdigest()}"
    index = {
        "schemaVersion": 2,
        "manifests": [
            {
                "mediaType": manifest["mediaType"],
                "digest": digest,
                "size": len(manifest_bytes),
                "annotations": {"io.containerd.image.name": reference},
            }
        ],
    }
    with tarfile.open(fileobj=stream, mode="w|") as archive:
        _add(archive, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(archive, "index.json", json.dumps(index).encode())
        _add(archive, _blob(digest), manifest_bytes)
        for part in missing_parts(manifest, present):
            archive.add(directory / part.removeprefix("sha256:"), _blob(part))


def missing_parts(manifest: dict[str, Any], present: set[str]) -> list[str]:
    """Return the digests that a receiver lacks; the small configuration always goes along."""
    layers = [layer["digest"] for layer in manifest["layers"]]
    return [manifest["config"]["digest"], *(d for d in dict.fromkeys(layers) if d not in present)]


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, BytesIO(content))
