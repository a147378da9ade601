"""The figures of the seed: when the replica factor is known, and what the metric says before."""

from dataclasses import dataclass

import pytest

from pdworker.transfer.factor import ReplicaFactor, is_complete


@dataclass(frozen=True)
class Info:
    """A destination that says how many there are."""

    required_dst_info_num: int | None


def room(*counts: int | None) -> dict[int, Info]:
    return {rank: Info(count) for rank, count in enumerate(counts)}


@pytest.mark.parametrize(("mla", "value"), [pytest.param(True, None, id="MLA"), pytest.param(False, 1, id="other")])
def test_before_any_barrier_only_mla_is_unresolved(*, mla: bool, value: int | None) -> None:
    warnings: list[str] = []
    assert ReplicaFactor(mla=mla, warn=warnings.append).value == value
    assert warnings == []


@pytest.mark.parametrize(
    ("mla", "destinations", "value"),
    [
        pytest.param(True, room(4, 4, 4, 4), 4, id="MLA takes the count of its destinations"),
        pytest.param(True, room(1), 1, id="MLA with one destination"),
        pytest.param(False, room(*[8] * 8), 1, id="others stay at one whatever the number of destinations"),
        pytest.param(False, {}, 1, id="others need no destination"),
        pytest.param(False, room(None), 1, id="others need no count"),
    ],
)
def test_a_barrier_resolves_it(*, mla: bool, destinations: dict[int, Info], value: int) -> None:
    warnings: list[str] = []
    factor = ReplicaFactor(mla=mla, warn=warnings.append)
    factor.resolve(destinations)
    factor.resolve(list(destinations.values()))
    assert (factor.value, factor.get(), warnings) == (value, value, [])


@pytest.mark.parametrize(
    "destinations", [pytest.param({}, id="no destinations"), pytest.param(room(None, None), id="a count of None")]
)
def test_without_a_count_it_stays_unresolved_and_warns_once(destinations: dict[int, Info]) -> None:
    warnings: list[str] = []
    factor = ReplicaFactor(mla=True, warn=warnings.append)
    for _ in range(3):
        factor.resolve(destinations)
    assert factor.value is None
    assert warnings == ["the room names no destination count: the replica factor stays unresolved"]


@pytest.mark.case("A-15")
def test_reading_an_unresolved_factor_gives_one_and_one_warning() -> None:
    warnings: list[str] = []
    factor = ReplicaFactor(mla=True, warn=warnings.append)
    assert [factor.get() for _ in range(3)] == [1, 1, 1]
    assert factor.value is None
    assert warnings == ["the replica factor is not resolved yet: transfer metrics count one copy"]


def test_a_resolved_factor_survives_a_room_without_a_count() -> None:
    factor = ReplicaFactor(mla=True, warn=lambda _: None)
    factor.resolve(room(4, 4, 4, 4))
    factor.resolve({})
    assert factor.value == 4


@pytest.mark.parametrize(
    ("destinations", "opens"),
    [
        pytest.param({}, False, id="nobody has spoken"),
        pytest.param(room(4, 4, 4), False, id="three of four"),
        pytest.param(room(4, 4, 4, 4), True, id="all four"),
        pytest.param(room(1), True, id="the only one"),
        pytest.param(room(None), False, id="one that names no count"),
    ],
)
def test_the_barrier_opens_when_all_have_spoken(*, destinations: dict[int, Info], opens: bool) -> None:
    assert is_complete(destinations) is opens
