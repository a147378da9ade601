import json
from pathlib import Path

import pytest

from pdbench import measure


def test_a_ratio_is_of_the_medians_and_keeps_both_sides() -> None:
    found = measure.ratio("speed", [2.0, 4.0, 9.0], [1.0, 8.0, 2.0])
    assert (found.value, found.ours_median, found.theirs_median) == (2.0, 4.0, 2.0)
    assert (found.min, found.median, found.max) == (0.5, 2.0, 4.5)


@pytest.mark.parametrize(("values", "expected"), [
    pytest.param([3.0, 1.0, 2.0], 3.0, id="of a few runs it is the largest"),
    pytest.param([float(n) for n in range(1, 201)], 198.0, id="of two hundred it leaves out two"),
])  # fmt: skip
def test_p99_is_a_run_that_was_seen(values: list[float], expected: float) -> None:
    assert measure.p99("wait", values, unit="s").value == expected


def test_a_recorded_measure_is_one_line_of_json_without_absent_sides(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.jsonl"
    measure.record([measure.of("wait", [1.0, 3.0, 2.0], unit="s")], path=path)
    assert json.loads(path.read_text()) == {
        "name": "wait", "value": 2.0, "unit": "s", "runs": 3, "min": 1.0, "median": 2.0, "max": 3.0,
    }  # fmt: skip
