from pathlib import Path

import pytest

from pdoperator.api.reference import PAGES, main, render

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", list(PAGES))
def test_the_page_in_the_tree_is_the_generated_one(page: str) -> None:
    assert (ROOT / page).read_text() == PAGES[page]()


def test_check_tells_an_outdated_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path)]) == 0
    assert main(["--root", str(tmp_path), "--check"]) == 0
    (tmp_path / "docs/reference/api.md").unlink()
    assert main(["--root", str(tmp_path), "--check"]) == 1
    assert "api.md is out of date: run `make docs`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "| `spec.prefill.parallelism.tensor` | integer | required |"
            " Ranks of the whole tensor-parallel group, context and data groups included. From 1 to 1024. |",
            id="a size",
        ),
        pytest.param("| `spec.slo` | object | | What bandwidth the link must keep. *Not supported yet.* |", id="later"),
        pytest.param(
            "| `spec.prefill.parallelism` | tensor … is not a multiple of context … |", id="a rule with its figures"
        ),
    ],
)
def test_a_reader_finds(line: str) -> None:
    assert line in render().splitlines()
