from pdworker.transfer.backends.base import Write
from pdworker.transfer.plan import Target, writes


def test_destinations_take_turns_in_every_layer_and_neighbouring_pages_are_one_write() -> None:
    near = Target(session="near", layer_addresses=(1_000, 2_000), pages=(4, 5, 6))
    apart = Target(session="apart", layer_addresses=(3_000, 4_000), pages=(0, 1, 7))
    assert writes(layers=(100, 200), item_bytes=10, pages=(1, 2, 3), to=(near, apart)) == [
        Write("near", source=110, target=1_040, length=30),
        Write("apart", source=110, target=3_000, length=20),
        Write("apart", source=130, target=3_070, length=10),
        Write("near", source=210, target=2_040, length=30),
        Write("apart", source=210, target=4_000, length=20),
        Write("apart", source=230, target=4_070, length=10),
    ]


def test_no_destination_needs_no_write() -> None:
    assert writes(layers=(100,), item_bytes=10, pages=(1,), to=()) == []
