"""The parser of foreign text: what it reads, what it refuses, and that it never does anything else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdoperator.verify.exposition import Limits, Malformed, parse
from pdoperator.verify.samples import Series


@pytest.mark.parametrize(
    ("line", "series"),
    [
        pytest.param("up 1", Series("up", (), 1.0), id="a bare name"),
        pytest.param("up\t1", Series("up", (), 1.0), id="a tab between name and value"),
        pytest.param("up 1 1700000000000", Series("up", (), 1.0), id="a timestamp is dropped"),
        pytest.param('a{b="c"} 2', Series("a", (("b", "c"),), 2.0), id="one label"),
        pytest.param("a{ } 2", Series("a", (), 2.0), id="white space in braces"),
        pytest.param("a{} 2", Series("a", (), 2.0), id="no labels in braces"),
        pytest.param('a{b="c",} 2', Series("a", (("b", "c"),), 2.0), id="a trailing comma"),
        pytest.param('a { z = "1" , b = "2" } 3', Series("a", (("b", "2"), ("z", "1")), 3.0), id="labels are sorted"),
        pytest.param('a{b="x\\"y\\\\z\\n"} 1', Series("a", (("b", 'x"y\\z\n'),), 1.0), id="escapes"),
        pytest.param('a{b="{},#"} 1', Series("a", (("b", "{},#"),), 1.0), id="punctuation inside a value"),
        pytest.param(
            'sglang:kv_transfer_total_mb_sum{model_name="/models/x"} 10980',
            Series("sglang:kv_transfer_total_mb_sum", (("model_name", "/models/x"),), 10980.0),
            id="a colon in the name",
        ),
        pytest.param("a 1.5e+09", Series("a", (), 1.5e9), id="an exponent"),
        pytest.param("a -.5", Series("a", (), -0.5), id="a negative fraction"),
        pytest.param("a +Inf", Series("a", (), math.inf), id="infinity"),
        pytest.param(
            'a_bucket{le="1"} 3 # {trace_id="x"} 0.5',
            Series("a_bucket", (("le", "1"),), 3.0),
            id="an exemplar is dropped",
        ),
        pytest.param("a 1\r", Series("a", (), 1.0), id="a carriage return"),
    ],
)
def test_a_line_is_read(line: str, series: Series) -> None:
    assert (series,) == parse(line)


def test_not_a_number_is_read_as_such() -> None:
    (series,) = parse("a NaN")
    assert math.isnan(series.value)


def test_comments_and_empty_lines_are_skipped() -> None:
    text = "# HELP a What it is.\n# TYPE a counter\n\n  \na 1\n# EOF\n"
    assert (Series("a", (), 1.0),) == parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("<html>", "line 1: no metric name", id="a web page"),
        pytest.param("a", "line 1: no value after a", id="no value"),
        pytest.param("a 1_000", "line 1: no value after a", id="python's digits"),
        pytest.param("a 1 2 3", "line 1: no value after a", id="too many fields"),
        pytest.param("a infinity", "line 1: no value after a", id="a word for a value"),
        pytest.param("ok 1\na{b=1} 1", "line 2: labels don't end", id="an unquoted label value"),
        pytest.param('a{b="1" 1', "line 1: labels don't end", id="no closing brace"),
        pytest.param('a{b="1 1', "line 1: labels don't end", id="no closing quote"),
        pytest.param('a{b="1",b="2"} 1', "line 1: label b twice", id="a label twice"),
        pytest.param('a{b="1"} 1\na{b="1"} 2', "line 2: a appears twice with the same labels", id="a series twice"),
        pytest.param("é 1", "line 1: no metric name", id="a name outside ASCII"),
    ],
)
def test_what_is_not_prometheus_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        parse(text)
    assert message == str(refused.value)


@pytest.mark.parametrize(
    ("text", "limits", "message"),
    [
        pytest.param("aaaa 1", Limits(characters=5), "6 characters, more than 5", id="page"),
        pytest.param("a 1\nb 2\nc 3", Limits(series=2), "more than 2 series", id="series"),
        pytest.param("aaaa 1", Limits(line=5), "line 1: 6 characters, more than 5", id="line"),
        pytest.param("#aaaaa", Limits(line=5), "line 1: 6 characters, more than 5", id="comment line"),
        pytest.param('a{b="1",c="2"} 1', Limits(labels=1), "line 1: more than 1 labels", id="labels"),
        pytest.param(
            'a{b="123"} 1', Limits(label_value=2), "line 1: label b has 3 characters, more than 2", id="label value"
        ),
    ],
)
def test_more_than_an_honest_page_has_is_refused(text: str, limits: Limits, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        parse(text, limits=limits)
    assert message == str(refused.value)


@given(st.text(max_size=200) | st.text(alphabet='a{}="\\n\n, 1#', max_size=60))
def test_garbage_is_refused_or_read_never_anything_else(text: str) -> None:
    try:
        parsed = parse(text)
    except Malformed:
        return
    assert len(parsed) <= text.count("\n") + 1


@given(
    st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), st.text(max_size=20), max_size=5),
    st.integers(min_value=0, max_value=2**53),
)
def test_what_is_written_by_the_book_is_read_back(labels: dict[str, str], value: int) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    written = ",".join(f'{key}="{escaped(each)}"' for key, each in labels.items())
    assert (Series("a", tuple(sorted(labels.items())), float(value)),) == parse(f"a{{{written}}} {value}")
