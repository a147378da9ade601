"""One program writes every generated file, and tells each that is stale without touching it."""

import shutil
from pathlib import Path

import pytest

from pdoperator.generate.__main__ import FILES, ROOT, main

STALE = "somebody's edit\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository with every generated file, as they are in the tree."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_generated_files_are_known() -> None:
    assert sorted(FILES) == [
        "charts/pd-operator/files/crd.yaml",
        "crds/pdoperator.io_pddeployments.yaml",
        "docs/reference/api.md",
        "docs/reference/cases.md",
        "docs/reference/conditions.md",
    ]


@pytest.mark.parametrize("file", list(FILES))
def test_the_file_in_the_tree_is_the_generated_one(file: str) -> None:
    assert (ROOT / file).read_text() == FILES[file](ROOT)


# The table of cases is half people's words: without it there is nothing to write it from.
@pytest.mark.parametrize("file", sorted(set(FILES) - {"docs/reference/cases.md"}))
@pytest.mark.parametrize("change", ["edited", "deleted"])
def test_check_tells_a_stale_file_and_leaves_it(
    copy: Path, capsys: pytest.CaptureFixture[str], file: str, change: str
) -> None:
    if change == "edited":
        (copy / file).write_text(STALE)
    else:
        (copy / file).unlink()
    assert main(["--root", str(copy), "--check"]) == 1
    assert capsys.readouterr().err == f"{file} is out of date: run `make generated` and commit the result\n"
    assert (copy / file).exists() == (change == "edited")
    assert change == "deleted" or (copy / file).read_text() == STALE


def test_writing_repairs_what_check_tells(copy: Path) -> None:
    (copy / "crds/pdoperator.io_pddeployments.yaml").write_text(STALE)
    (copy / "docs/reference/cases.md").write_text(
        (copy / "docs/reference/cases.md").read_text().replace("::test_", "::")
    )
    assert main(["--root", str(copy), "--check"]) == 1
    assert main(["--root", str(copy)]) == 0
    assert main(["--root", str(copy), "--check"]) == 0
