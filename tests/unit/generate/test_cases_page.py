"""docs/reference/cases.md lists every marked test, and every case has one."""

from pathlib import Path

import pytest

from pdoperator.generate.cases_page import FILE, listed, marked, render

ROOT = Path(__file__).parents[3]
TABLE = (ROOT / FILE).read_text(encoding="utf-8")
TESTS = marked(ROOT)


def test_the_table_is_what_the_markers_say() -> None:
    assert render(TABLE, TESTS) == TABLE, "run `make generated`"


def test_a_mark_names_a_case_of_the_table() -> None:
    assert set(TESTS) - listed(TABLE) == set()


@pytest.mark.parametrize("case", sorted(listed(TABLE)))
def test_every_case_has_a_test(case: str) -> None:
    assert TESTS.get(case)
