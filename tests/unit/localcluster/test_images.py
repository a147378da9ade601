import io
import json
import tarfile
from pathlib import Path

import pytest

from pdcluster.images import Images, current, digest_of, missing_parts, write_archive

FILES = [("Dockerfile", b"FROM a"), ("operator/a.py", b"x = 1")]
BASE = digest_of(FILES, recipe="r1")


@pytest.mark.parametrize(
    ("files", "recipe"),
    [
        pytest.param([("Dockerfile", b"FROM b"), FILES[1]], "r1", id="a content"),
        pytest.param([FILES[0], ("operator/b.py", b"x = 1")], "r1", id="a name"),
        pytest.param([*FILES, ("operator/c.py", b"")], "r1", id="an empty file more"),
        pytest.param(FILES, "r2", id="the bases"),
        pytest.param([("Dockerfile", b"FROM aoperator/a.py"), ("", b"x = 1")], "r1", id="where a file ends"),
    ],
)
def test_the_tag_changes_with(files: list[tuple[str, bytes]], recipe: str) -> None:
    assert digest_of(files, recipe=recipe) != BASE


def test_the_tag_is_twelve_hexadecimal_digits() -> None:
    assert len(BASE) == 12
    assert int(BASE, 16) >= 0


def _tree(root: Path) -> Path:
    for name in ("Dockerfile", ".dockerignore", "pyproject.toml", "constraints.txt", "operator/a.py", "workers/b.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(name)
    return root


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        pytest.param("operator/a.py", True, id="a source of the operator"),
        pytest.param("workers/new.py", True, id="a new source of the worker"),
        pytest.param("constraints.txt", True, id="a pinned version"),
        pytest.param("operator/__pycache__/a.pyc", False, id="a compiled file"),
        pytest.param("README.md", False, id="the readme"),
        pytest.param("tests/test_a.py", False, id="a test"),
    ],
)
def test_only_what_is_in_an_image_names_it(tmp_path: Path, path: str, *, changes: bool) -> None:
    before = current(_tree(tmp_path), recipe="r")
    (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / path).write_text("changed")
    assert (current(tmp_path, recipe="r") != before) is changes


def test_images_are_local_names_with_one_tag() -> None:
    assert Images.tagged("abc") == Images(operator="localhost/pd-operator:abc", worker="localhost/pd-worker:abc")


MANIFEST = {
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "config": {"digest": "sha256:c0"},
    "layers": [{"digest": "sha256:a1"}, {"digest": "sha256:b2"}, {"digest": "sha256:a1"}],
}


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param(set(), ["sha256:c0", "sha256:a1", "sha256:b2"], id="nothing present, a layer twice goes once"),
        pytest.param({"sha256:a1"}, ["sha256:c0", "sha256:b2"], id="the base present"),
        pytest.param({"sha256:a1", "sha256:b2", "sha256:c0"}, ["sha256:c0"], id="all present"),
    ],
)
def test_only_missing_layers_are_sent(present: set[str], expected: list[str]) -> None:
    assert missing_parts(MANIFEST, present) == expected


def test_the_archive_names_the_image_and_leaves_out_present_layers(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    for name in ("c0", "b2"):
        (tmp_path / name).write_text(name)
    stream = io.BytesIO()
    write_archive(stream, tmp_path, reference="localhost/x:1", present={"sha256:a1"})
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        names = archive.getnames()
        index_file = archive.extractfile("index.json")
        assert index_file is not None
        index = json.load(index_file)
    manifest = index["manifests"][0]
    assert manifest["annotations"] == {"io.containerd.image.name": "localhost/x:1"}
    assert names == [
        "oci-layout",
        "index.json",
        f"blobs/{manifest['digest'].replace(':', '/')}",
        "blobs/sha256/c0",
        "blobs/sha256/b2",
    ]
