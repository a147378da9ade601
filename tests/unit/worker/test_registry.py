"""Case C-06: nobody may use a prefill instance before every rank has registered."""

from itertools import product

import pytest

from pdworker.bootstrap.registry import FORGET_SECONDS, Place, Registry, Settings, Shape

SETTINGS = Settings(page_size=64, kv_cache_dtype="bfloat16")
TP8_PP2 = Shape(attn_tp_size=8, pp_size=2)


def places(shape: Shape) -> list[Place]:
    """Every place of an instance."""
    sizes = (shape.attn_dp_size, shape.attn_cp_size, shape.attn_tp_size, shape.pp_size)
    return [Place(*at) for at in product(*map(range, sizes))]


def a_registry(shape: Shape, *, registered: int, now: float = 0.0) -> Registry:
    registry = Registry(shape, SETTINGS)
    for at, place in enumerate(places(shape)[:registered]):
        registry.register(place, ip="10.0.0.5", port=16000 + at, now=now)
    return registry


@pytest.mark.case("C-06")
@pytest.mark.parametrize(
    ("shape", "ranks"),
    [
        pytest.param(TP8_PP2, 16, id="tp8 pp2"),
        pytest.param(Shape(attn_tp_size=2, attn_cp_size=4), 8, id="tp8 cp4: context ranks count too"),
        pytest.param(Shape(attn_tp_size=1, attn_cp_size=4), 4, id="tp4 cp4"),
        pytest.param(Shape(attn_tp_size=2, attn_dp_size=4), 8, id="tp8 dp4"),
    ],
)
def test_how_many_ranks_register(shape: Shape, ranks: int) -> None:
    assert (shape.ranks, len(places(shape))) == (ranks, ranks)
    assert a_registry(shape, registered=ranks - 1).is_complete(now=1.0) is False
    assert a_registry(shape, registered=ranks).is_complete(now=1.0) is True


@pytest.mark.case("C-06")
@pytest.mark.parametrize(("registered", "complete"), [(0, False), (15, False), (16, True)])
def test_it_is_complete_only_with_all_sixteen(*, registered: int, complete: bool) -> None:
    registry = a_registry(TP8_PP2, registered=registered)
    assert (registry.present(now=1.0), registry.is_complete(now=1.0)) == (registered, complete)


@pytest.mark.case("C-06")
def test_a_rank_that_falls_silent_makes_it_incomplete_again_and_one_that_returns_complete() -> None:
    registry = a_registry(TP8_PP2, registered=16)
    *others, silent = places(TP8_PP2)
    for place in others:
        registry.register(place, ip="10.0.0.5", port=1, now=FORGET_SECONDS - 1)
    assert registry.present(now=FORGET_SECONDS) == 15
    assert registry.is_complete(now=FORGET_SECONDS) is False
    assert registry.address(silent, now=FORGET_SECONDS) is None
    registry.register(silent, ip="10.0.0.5", port=16099, now=FORGET_SECONDS)
    assert registry.is_complete(now=FORGET_SECONDS) is True
    assert registry.address(silent, now=FORGET_SECONDS) == ("10.0.0.5", 16099)


def test_registering_twice_is_one_row_with_the_later_address() -> None:
    registry = a_registry(TP8_PP2, registered=1)
    registry.register(Place(0, 0, 0, 0), ip="10.0.0.9", port=16001, now=2.0)
    assert registry.present(now=2.0) == 1
    assert registry.address(Place(0, 0, 0, 0), now=2.0) == ("10.0.0.9", 16001)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(Place(0, 0, 8, 0), id="tensor rank beyond the last"),
        pytest.param(Place(0, 1, 0, 0), id="context rank of an instance without context"),
        pytest.param(Place(1, 0, 0, 0), id="data rank beyond the last"),
        pytest.param(Place(0, 0, 0, 2), id="pipeline rank beyond the last"),
        pytest.param(Place(0, 0, -1, 0), id="negative"),
    ],
)
def test_a_rank_outside_the_instance_is_refused(place: Place) -> None:
    registry = a_registry(TP8_PP2, registered=16)
    with pytest.raises(ValueError, match="is outside"):
        registry.register(place, ip="10.0.0.5", port=1, now=0.0)
    assert registry.present(now=0.0) == 16


@pytest.mark.case("C-06")
def test_the_topology_has_the_engines_names_and_no_nulls() -> None:
    assert a_registry(Shape(attn_tp_size=2, attn_cp_size=4), registered=8).topology() == {
        "attn_tp_size": 2,
        "attn_cp_size": 4,
        "dp_size": 1,
        "pp_size": 1,
        "page_size": 64,
        "kv_cache_dtype": "bfloat16",
        "follow_bootstrap_room": True,
    }
