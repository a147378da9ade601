"""The KV pool of one rank: one torch tensor a layer, [pages, page size, width], as MLA caches are.

torch lives here alone.
"""

import struct
import zlib
from collections.abc import Sequence

import torch

from pdworker.config import Geometry

_MARK = struct.Struct(">QHI")  # room, layer, position: what makes a page unlike every other
# fp8 is kept as bytes: torch 1.13 has no fp8 type, and nothing here computes with it.
TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "fp8_e4m3": torch.uint8}
INTEGERS = {1: torch.int8, 2: torch.int16}  # the same bytes, seen as integers: a pattern must not pass through rounding


class Pool:
    """Pages of latent KV. Untouched pages cost no memory: the system gives them when they are first written."""

    def __init__(self, geometry: Geometry, *, pages: int) -> None:
        torch.set_num_threads(1)  # a rank is a process; its threads would fight the engine for cores
        self.geometry = geometry
        self.pages = pages
        shape = (pages, geometry.page_size, geometry.width)
        self.layers = [torch.zeros(shape, dtype=TYPES[geometry.dtype]) for _ in range(geometry.layers)]
        # A view on the same memory, once: crc32 reads it without a copy.
        self._bytes = [memoryview(_as_bytes(layer).numpy()) for layer in self.layers]
        integer = INTEGERS[self.layers[0].element_size()]
        self._integers = [layer.view(integer).view(pages, -1) for layer in self.layers]
        self._ramp = torch.arange(geometry.page_size * geometry.width).to(integer)
        self._start_mask = torch.iinfo(integer).max

    def addresses(self) -> tuple[int, ...]:
        """Where each layer begins."""
        return tuple(layer.data_ptr() for layer in self.layers)

    def layer_bytes(self) -> int:
        """Bytes of one layer's buffer."""
        return self.pages * self.geometry.item_bytes

    def fill(self, room: int, pages: Sequence[int]) -> None:
        """Write the KV of a request into its pages: a ramp, and before it which page of which request this is.

        The ramp alone would not do: elements of one byte know 256 of them, and a page that another request left behind
        would pass for this one's now and then.
        """
        size = self.geometry.item_bytes
        for layer, view in enumerate(self._integers):
            for position, page in enumerate(pages):
                start = (room * 1_000_003 + layer * 8_191 + position * 131) & self._start_mask
                torch.add(self._ramp, start, out=view[page])
                mark = _MARK.pack(room, layer, position)[:size]
                self._bytes[layer][page * size : page * size + len(mark)] = mark

    def checksums(self, pages: Sequence[int]) -> list[list[int]]:
        """CRC-32 of every page, [layer][position]: it finds every single flipped bit and every burst up to 32 bits."""
        size = self.geometry.item_bytes
        return [[zlib.crc32(layer[page * size : (page + 1) * size]) for page in pages] for layer in self._bytes]


def _as_bytes(layer: torch.Tensor) -> torch.Tensor:
    """The tensor's memory as one flat array of bytes; numpy has no bfloat16, so the view is made by torch."""
    flat = layer.view(-1)
    return flat if flat.dtype == torch.uint8 else flat.view(torch.int16).view(torch.uint8)
