from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdworker.topology import Group, sources_of

# prefill, decode, replica factor, the attention ranks of prefill that send, those that are dummies
PAIRS = [
    pytest.param(Group(4), Group(2), 1, (0, 2), (1, 3), id="narrower decode: half of prefill are dummies"),
    pytest.param(Group(2), Group(4), 2, (0, 1), (), id="decode twice as wide"),
    pytest.param(Group(4), Group(4), 1, (0, 1, 2, 3), (), id="equal widths"),
    pytest.param(Group(8), Group(1), 1, (0,), (1, 2, 3, 4, 5, 6, 7), id="one decode rank takes the first of eight"),
    pytest.param(Group(4, 4), Group(4), 4, (0,), (), id="one sender of four context ranks feeds four"),
    pytest.param(Group(8, 8), Group(8), 8, (0,), (), id="one sender of eight context ranks feeds eight"),
    pytest.param(Group(8, 8), Group(4), 4, (0,), (), id="eight context ranks against a decode of four"),
    pytest.param(Group(4, 4), Group(8), 8, (0,), (), id="four context ranks against a decode of eight"),
    pytest.param(Group(4), Group(8), 2, (0, 1, 2, 3), (), id="four senders, two copies each"),
    pytest.param(Group(8), Group(8), 1, (0, 1, 2, 3, 4, 5, 6, 7), (), id="eight to eight"),
    pytest.param(Group(8), Group(4), 1, (0, 2, 4, 6), (1, 3, 5, 7), id="eight to four: every other one is a dummy"),
    pytest.param(Group(8, 4), Group(8), 4, (0, 1), (), id="context carves the width: two senders, four copies each"),
    pytest.param(Group(2), Group(6), 3, (0, 1), (), id="widths need not be powers of two"),
]


@pytest.mark.case("A-02")
@pytest.mark.parametrize(("prefill", "decode", "factor", "senders", "dummies"), PAIRS)
def test_the_factor_and_who_sends(
    prefill: Group, decode: Group, factor: int, senders: tuple[int, ...], dummies: tuple[int, ...]
) -> None:
    found = [sources_of(rank, prefill=prefill, decode=decode) for rank in range(decode.tensor)]
    assert {each.required_destinations for each in found} == {factor}
    assert Counter(each.real for each in found) == dict.fromkeys(senders, factor)
    assert sorted(rank for each in found for rank in each.dummies) == list(dummies)


@pytest.mark.parametrize(
    ("group", "width", "senders"),
    [
        pytest.param(Group(4), 4, [0, 1, 2, 3], id="without context all ranks send"),
        pytest.param(Group(4, 4), 1, [0], id="context over the whole width: rank 0 alone"),
        pytest.param(Group(8, 4), 2, [0, 1], id="context rank 0 is the first two ranks"),
        pytest.param(Group(8, 2), 4, [0, 1, 2, 3], id="context rank 0 is the first half"),
    ],
)
def test_context_rank_zero_sends(group: Group, width: int, senders: list[int]) -> None:
    assert group.attention_tensor == width
    assert [rank for rank in range(group.tensor) if group.sends(rank)] == senders


def test_tensor_runs_fastest_in_the_order_of_ranks() -> None:
    group = Group(8, 4)
    assert [(group.context_rank(rank), group.attention_rank(rank)) for rank in range(8)] == [
        (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("prefill", "decode", "message"),
    [
        (Group(2), Group(3), "decode attention TP 3 and prefill attention TP 2: neither divides the other"),
        (Group(6), Group(4), "decode attention TP 4 and prefill attention TP 6: neither divides the other"),
        (Group(12, 2), Group(4), "decode attention TP 4 and prefill attention TP 6: neither divides the other"),
    ],
)
def test_widths_of_which_neither_divides_the_other_are_refused(prefill: Group, decode: Group, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        sources_of(0, prefill=prefill, decode=decode)


@given(narrow=st.integers(1, 16), times=st.integers(1, 16), context=st.integers(1, 4), prefill_is_wide=st.booleans())
def test_every_prefill_rank_either_sends_or_is_a_dummy_and_every_decode_rank_has_one_source(
    *, narrow: int, times: int, context: int, prefill_is_wide: bool
) -> None:
    wide = narrow * times
    prefill, decode = (wide, narrow) if prefill_is_wide else (narrow, wide)
    group = Group(prefill * context, context)
    found = [sources_of(rank, prefill=group, decode=Group(decode)) for rank in range(decode)]
    reached = [each.real for each in found] + [rank for each in found for rank in each.dummies]
    assert set(reached) == set(range(prefill))
    copies = Counter(each.real for each in found)
    assert all(copies[each.real] == each.required_destinations for each in found)
