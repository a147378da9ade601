"""Image archives made of a few files: one layer, no build tool."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def write(
    path: Path,
    *,
    reference: str,
    programs: Mapping[str, Path],
    command: Sequence[str],
    links: Mapping[str, str] | None = None,
) -> None:
    """Write a docker archive of an image that holds PROGRAMS (place in the image -> file here) and LINKS."""
    layer = _layer(programs, links or {})
    # An image of one program always runs it; one of several is told which.
    run = {"Entrypoint": list(command)} if len(programs) == 1 and not links else {"Cmd": list(command)}
    digest = hashlib.sha256(layer).hexdigest()
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {**run, "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        },
        sort_keys=True,
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [reference], "Layers": ["layer.tar"]}]).encode()
    partial = path.with_suffix(".partial")
    with tarfile.open(partial, "w") as archive:
        for name, content in ((config_name, config), ("layer.tar", layer), ("manifest.json", manifest)):
            archive.addfile(_entry(name, size=len(content)), io.BytesIO(content))
    partial.replace(path)


def _layer(programs: Mapping[str, Path], links: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for directory in ("tmp", *sorted({str(Path(p).parent) for p in (*programs, *links)} - {"."})):
            entry = _entry(directory, mode=0o1777 if directory == "tmp" else 0o755)
            entry.type = tarfile.DIRTYPE
            layer.addfile(entry)
        for place, source in sorted(programs.items()):
            content = source.read_bytes()
            layer.addfile(_entry(place, size=len(content), mode=0o755), io.BytesIO(content))
        for place, target in sorted(links.items()):
            entry = _entry(place)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            layer.addfile(entry)
    return buffer.getvalue()


def _entry(name: str, *, size: int = 0, mode: int = 0o644) -> tarfile.TarInfo:
    # No time and no owner of this machine: the same files make the same image everywhere.
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, mode
    return entry
