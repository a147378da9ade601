"""`make bench`: run the benchmarks, print a table, append JSON lines to build/bench.jsonl."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pdbench import apply, payload, scale
from pdbench.measure import Measure, record, table

BENCHES: dict[str, Callable[[], Sequence[Measure]]] = {
    "payload": payload.measures,
    "scale": scale.measures,
    "apply": apply.measures,
}
RESULTS = Path(__file__).resolve().parents[2] / "build" / "bench.jsonl"


def main() -> int:
    """Run all benchmarks, or the one named. A benchmark that fails ends the run with its traceback."""
    parser = argparse.ArgumentParser(prog="pdbench", description=__doc__)
    parser.add_argument("--only", choices=sorted(BENCHES), help="run this one alone")
    only = parser.parse_args().only
    for name in [only] if only else BENCHES:
        print(f"==> {name}", file=sys.stderr, flush=True)
        measures = BENCHES[name]()
        record(measures, path=RESULTS)
        print(table(measures), flush=True)  # at once: what was measured isn't lost when the next one fails
    return 0


if __name__ == "__main__":
    sys.exit(main())
