import json
import tarfile
from pathlib import Path

from pdcluster import archive


def _write(folder: Path, name: str) -> Path:
    program = folder / "program"
    program.write_bytes(b"\x7fELF")
    path = folder / name
    archive.write(path, reference="localhost/p:1", programs={"bin/p": program}, command=["/bin/p"])
    return path


def test_the_same_program_makes_the_same_image(tmp_path: Path) -> None:
    assert _write(tmp_path, "a.tar").read_bytes() == _write(tmp_path, "b.tar").read_bytes()


def test_an_image_of_one_program_always_runs_it(tmp_path: Path) -> None:
    with tarfile.open(_write(tmp_path, "a.tar")) as image:
        manifest_file = image.extractfile("manifest.json")
        assert manifest_file is not None
        manifest = json.load(manifest_file)[0]
        config_file = image.extractfile(manifest["Config"])
        assert config_file is not None
        config = json.load(config_file)
    assert manifest["RepoTags"] == ["localhost/p:1"]
    assert config["config"]["Entrypoint"] == ["/bin/p"]


def test_an_image_of_a_toolbox_runs_what_it_is_told(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.write_bytes(b"\x7fELF")
    path = tmp_path / "box.tar"
    archive.write(
        path, reference="b:1", programs={"bin/box": box}, command=["/bin/sh"], links={"bin/sh": "box", "bin/ls": "box"}
    )
    with tarfile.open(path) as image:
        config_file = image.extractfile(
            next(n for n in image.getnames() if n.endswith(".json") and n != "manifest.json")
        )
        assert config_file is not None
        config = json.load(config_file)["config"]
        layer = image.extractfile("layer.tar")
        with tarfile.open(fileobj=layer) as files:
            targets = {m.name: m.linkname for m in files if m.issym()}
    assert config == {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]}
    assert targets == {"bin/sh": "box", "bin/ls": "box"}
