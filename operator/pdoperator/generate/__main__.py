"""Every generated file of the repository: `python -m pdoperator.generate [--check]`."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pdoperator.generate import api_page, cases_page, conditions_page, crd

ROOT = Path(__file__).parents[3]

FILES: Mapping[str, Callable[[Path], str]] = {
    **dict.fromkeys(crd.FILES, lambda _: crd.render()),
    api_page.FILE: lambda _: api_page.render(),
    conditions_page.FILE: lambda _: conditions_page.render(),
    cases_page.FILE: cases_page.render_in,
}
"""Path below the repository's root to what makes the text. It is given the root: one page is made from the tests."""


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with --check change nothing and return 1 when one is out of date."""
    parser = argparse.ArgumentParser(prog="python -m pdoperator.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is out of date")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (default: this one)")
    options = parser.parse_args(arguments)
    stale = [name for name, render in FILES.items() if _text(options.root / name) != render(options.root)]
    for name in stale:
        if options.check:
            sys.stderr.write(f"{name} is out of date: run `make generated` and commit the result\n")
            continue
        path = options.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name](options.root), encoding="utf-8")
    return 1 if options.check and stale else 0


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
