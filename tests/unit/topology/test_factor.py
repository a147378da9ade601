from math import gcd

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pdoperator.api.enums import Attention
from pdoperator.topology.factor import Factor, Unknown, replica_factor, senders
from pdoperator.topology.parallelism import Parallelism, can_pair


@pytest.mark.case("A-01")
@pytest.mark.case("A-02")
@pytest.mark.parametrize(
    ("prefill", "decode", "factor"),
    [
        pytest.param(
            Parallelism(4, context=4), Parallelism(4), 4, id="one sender of four context ranks feeds four decode ranks"
        ),
        pytest.param(Parallelism(8, context=8), Parallelism(8), 8, id="one sender of eight feeds eight"),
        pytest.param(Parallelism(8, context=8), Parallelism(4), 4, id="eight context ranks against a decode of four"),
        pytest.param(Parallelism(4, context=4), Parallelism(8), 8, id="four context ranks against a decode of eight"),
        pytest.param(Parallelism(4), Parallelism(2), 1, id="narrower decode never divides"),
        pytest.param(Parallelism(2), Parallelism(4), 2, id="twice as wide"),
        pytest.param(Parallelism(4), Parallelism(4), 1, id="equal widths"),
        pytest.param(Parallelism(8), Parallelism(1), 1, id="eight against one"),
        pytest.param(
            Parallelism(8, context=4), Parallelism(8), 4, id="context carves the width: two senders, four copies each"
        ),
        pytest.param(
            Parallelism(8, context=8), Parallelism(8, data=4), 2, id="decode data parallelism divides the width first"
        ),
        pytest.param(Parallelism(8, data=8), Parallelism(8), 8, id="prefill data parallelism does too"),
        pytest.param(Parallelism(16, data=8), Parallelism(16, data=8), 1, id="data parallel on both sides"),
        pytest.param(
            Parallelism(4, pipeline=2), Parallelism(8, pipeline=2), 2, id="pipeline changes who sends, not how often"
        ),
    ],
)
def test_mla_factor(prefill: Parallelism, decode: Parallelism, factor: int) -> None:
    found = replica_factor(prefill=prefill, decode=decode, attention=Attention.MLA)
    assert isinstance(found, Factor)
    assert found.value == factor


@pytest.mark.parametrize(
    ("prefill", "decode", "because"),
    [
        pytest.param(
            Parallelism(4, context=4), Parallelism(4),
            "decode attention TP 4 / prefill attention TP 1 (tensor 4 / context 4) = 4", id="with its divisions",
        ),
        pytest.param(
            Parallelism(8, context=8), Parallelism(8, data=4),
            "decode attention TP 2 (tensor 8 / data 4) / prefill attention TP 1 (tensor 8 / context 8) = 2",
            id="of both sides",
        ),
        pytest.param(
            Parallelism(4), Parallelism(2),
            "decode attention TP 2 is not wider than prefill attention TP 4: one copy",
            id="one copy",
        ),
    ],
)  # fmt: skip
def test_the_derivation_is_told_in_words(prefill: Parallelism, decode: Parallelism, because: str) -> None:
    assert replica_factor(prefill=prefill, decode=decode, attention=Attention.MLA).because == because


def test_heads_are_shared_out_so_the_factor_is_one_whatever_the_widths() -> None:
    found = replica_factor(prefill=Parallelism(2), decode=Parallelism(16), attention=Attention.MHA)
    assert isinstance(found, Factor)
    assert found.value == 1


@pytest.mark.parametrize("attention", [Attention.HYBRID_MLA, Attention.HYBRID_SWA])
def test_a_rule_that_is_not_known_is_not_guessed(attention: Attention) -> None:
    found = replica_factor(prefill=Parallelism(2), decode=Parallelism(4), attention=attention)
    assert found == Unknown(f"no rule is known for attention {attention}")


@pytest.mark.parametrize(
    ("prefill", "decode", "attention", "ranks"),
    [
        pytest.param(Parallelism(4, context=4), Parallelism(4), Attention.MLA, (0,), id="the first context rank alone"),
        pytest.param(
            Parallelism(8, context=4), Parallelism(8), Attention.MLA, (0, 1), id="the first context group's two"
        ),
        pytest.param(Parallelism(4), Parallelism(8), Attention.MLA, (0, 1, 2, 3), id="all of a narrower prefill"),
        pytest.param(
            Parallelism(8), Parallelism(4), Attention.MLA, (0, 2, 4, 6), id="every other one of a prefill twice as wide"
        ),
        pytest.param(Parallelism(8), Parallelism(1), Attention.MLA, (0,), id="one for a single receiver"),
        pytest.param(
            Parallelism(8), Parallelism(4), Attention.MHA, (0, 1, 2, 3, 4, 5, 6, 7), id="heads: each rank has its own"
        ),
    ],
)
def test_who_sends(prefill: Parallelism, decode: Parallelism, attention: Attention, ranks: tuple[int, ...]) -> None:
    assert senders(prefill=prefill, decode=decode, attention=attention) == ranks


SIZES = st.integers(min_value=1, max_value=64)


@st.composite
def sides(draw: st.DrawFn) -> Parallelism:
    context, width = draw(SIZES), draw(SIZES)
    return Parallelism(tensor=context * width, context=context)


@given(prefill=sides(), decode=sides())
def test_every_pair_that_can_be_paired_serves_each_decode_rank_exactly_once(
    prefill: Parallelism, decode: Parallelism
) -> None:
    assume(can_pair(prefill, decode))
    found = replica_factor(prefill=prefill, decode=decode, attention=Attention.MLA)
    assert isinstance(found, Factor)
    assert found.value >= 1
    ranks = senders(prefill=prefill, decode=decode, attention=Attention.MLA)
    assert len(ranks) * found.value == decode.attention_tensor


@given(one=sides(), other=sides())
def test_pairing_is_the_same_both_ways_and_means_divisibility(one: Parallelism, other: Parallelism) -> None:
    narrow = min(one.attention_tensor, other.attention_tensor)
    assert can_pair(one, other) == can_pair(other, one)
    assert can_pair(one, other) == (gcd(one.attention_tensor, other.attention_tensor) == narrow)
