"""The prose holds to the tree: links lead somewhere, make targets exist, the conditions are all there."""

import re
from pathlib import Path

import pytest

from pdoperator.api.conditions import ConditionType

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])

LINK = re.compile(r"\]\(([^)\s]+)\)")
MAKE_TARGET = re.compile(r"\bmake (?:-s )?([a-z][a-z-]*)")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@EVERY_PAGE
def test_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@EVERY_PAGE
def test_make_target_named_in_code_exists(page: Path) -> None:
    rules = re.findall(r"^([a-z][a-z-]*(?: [a-z][a-z-]*)*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    named = {target for code in CODE.findall(page.read_text()) for target in MAKE_TARGET.findall(code)}
    assert named <= targets


def test_readme_lists_every_condition_once_and_no_other() -> None:
    section = (ROOT / "README.md").read_text().partition("| condition | True when |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(str(each) for each in ConditionType)
