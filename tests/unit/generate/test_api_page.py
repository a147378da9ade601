import pytest

from pdoperator.generate.api_page import render


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
