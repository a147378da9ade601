"""The pool's tensors: each request leaves a trace of its own, and every page answers for itself alone."""

from itertools import chain, pairwise

import pytest

from pdworker.config import ELEMENT_BYTES, Geometry
from pdworker.kv.pool import TYPES, Pool

DTYPES = list(ELEMENT_BYTES)


def a_pool(dtype: str = "bfloat16", *, layers: int = 3, pages: int = 4) -> Pool:
    return Pool(Geometry(layers=layers, width=10, dtype=dtype, page_size=4), pages=pages)


def flip(pool: Pool, *, layer: int, page: int, byte: int, bit: int) -> None:
    """Flip one bit, as a faulty link would."""
    pool._bytes[layer][page * pool.geometry.item_bytes + byte] ^= 1 << bit


def test_every_kind_of_element_has_a_tensor_type_of_its_size() -> None:
    assert set(TYPES) == set(ELEMENT_BYTES)


@pytest.mark.parametrize(("dtype", "item_bytes"), [("bfloat16", 80), ("float16", 80), ("fp8_e4m3", 40)])
def test_layers_are_buffers_of_their_own(dtype: str, item_bytes: int) -> None:
    pool = a_pool(dtype)
    assert pool.geometry.item_bytes == item_bytes
    assert pool.layer_bytes() == 4 * item_bytes
    starts = sorted(pool.addresses())
    assert all(after - before >= pool.layer_bytes() for before, after in pairwise(starts))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("page", [0, 1, 3])
@pytest.mark.parametrize(("byte", "bit"), [(0, 0), (17, 3), (39, 7)])
def test_one_flipped_bit_is_found_in_its_page_and_in_no_other(dtype: str, page: int, byte: int, bit: int) -> None:
    pool, pages = a_pool(dtype), [0, 1, 2, 3]
    pool.fill(7, pages)
    before = pool.checksums(pages)
    flip(pool, layer=1, page=page, byte=byte, bit=bit)
    after = pool.checksums(pages)
    changed = [(layer, at) for layer in range(3) for at in range(4) if before[layer][at] != after[layer][at]]
    assert changed == [(1, page)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_page_of_a_request_is_unlike_every_other(dtype: str) -> None:
    pool = a_pool(dtype, layers=27, pages=64)
    pool.fill(7, range(64))
    assert len(set(chain(*pool.checksums(range(64))))) == 27 * 64


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_request_left_never_passes_for_another(dtype: str) -> None:
    pool, seen = a_pool(dtype), set[int]()
    for room in range(1000):
        pool.fill(room << 40 | room, [2])
        seen |= set(chain(*pool.checksums([2])))
    assert len(seen) == 1000 * 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_request_looks_the_same_in_whatever_pages_it_lies(dtype: str) -> None:
    pool, other = a_pool(dtype), a_pool(dtype, pages=9)
    pool.fill(7, [0, 1])
    other.fill(7, [8, 3])
    assert pool.checksums([0, 1]) == other.checksums([8, 3])
    assert pool.checksums([1, 0]) != other.checksums([8, 3])


def test_pages_outside_the_request_are_left_alone() -> None:
    pool = a_pool()
    untouched = pool.checksums([0, 3])
    pool.fill(7, [1, 2])
    assert pool.checksums([0, 3]) == untouched


@pytest.mark.parametrize(("tokens", "pages"), [(1, 1), (4, 1), (5, 2), (4096, 1024)])
def test_a_page_that_is_not_full_is_moved_whole(tokens: int, pages: int) -> None:
    assert a_pool().geometry.pages(tokens) == pages


def test_a_page_of_deepseek_v2_lite() -> None:
    geometry = Geometry(layers=27, width=576, dtype="bfloat16", page_size=64)
    assert (geometry.item_bytes, geometry.page_bytes) == (73_728, 1_990_656)
