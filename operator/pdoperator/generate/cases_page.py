"""The table of docs/reference/cases.md: which tests answer which public report, as their markers say.

Only the last column is generated; the words in the other columns are people's.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FILE: Final = "docs/reference/cases.md"
MARK: Final = "pytest.mark.case("


def marked(root: Path) -> dict[str, list[str]]:
    """Case to the tests that are marked with it, each as path::name, in the order of the tree."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, case in _marks(tree.body):
            found.setdefault(case, []).append(f"{path.relative_to(root)}::{name}")
    return found


def render_in(root: Path) -> str:
    """The page of the repository at `root`, with its last column as the tests there say; empty without a page."""
    path = root / FILE
    return render(path.read_text(encoding="utf-8"), marked(root)) if path.exists() else ""


def render(page: str, tests: dict[str, list[str]]) -> str:
    """The page with the last cell of each case's row as the markers say."""
    return "\n".join(_row(line, tests) for line in page.splitlines()) + "\n"


def listed(page: str) -> set[str]:
    """The cases that have a row."""
    return {line.split("|")[1].strip() for line in page.splitlines() if _is_row(line)}


def _row(line: str, tests: dict[str, list[str]]) -> str:
    if not _is_row(line):
        return line
    *cells, _ = line.removesuffix("|").split("|")
    names = "<br>".join(f"`{name}`" for name in tests.get(cells[1].strip(), ()))
    return "|".join([*cells, f" {names or 'none'} |"])


def _is_row(line: str) -> bool:
    return line.startswith(("| A-", "| B-", "| C-", "| D-", "| E-"))


def _marks(nodes: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            yield from _marks(node.body, f"{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                text = ast.unparse(decorator)
                if text.startswith(MARK):
                    yield prefix + node.name, str(ast.literal_eval(text.removeprefix(MARK).removesuffix(")")))
