"""Tiles of float32 in shared memory as `wgmma` takes them: both parts of each, rows along k.

`wgmma` multiplies tf32 in no other order, so operands that lie otherwise are turned on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.lang import (
    Int,
    Registers,
    Shared,
    address,
    part,
    register_tensor,
    reinterpret,
    shared_tensor,
    static,
    tf32,
    unroll,
    vectorize,
)
from hidet.lang.cuda import threadIdx, wgmma_descriptor, wgmma_layout
from hidet.lang.cuda.wgmma import Descriptor
from hidet.mapping import auto_map, spatial
from hidet.mapping.swizzle import SwizzledLayout
from hidet.schedules.cuda.tiles.staging import Side, Source
from hidet.schedules.cuda.tiles.two_parts import large_of, small_of
from hidet.target import WARP
from hidet.types import PointerType

LARGE, SMALL = 0, 1
"""The two parts of a tile."""
BESIDE = 2
"""Vectors across that a warp turns at once: 32 bytes of a line, and no two lanes in one bank."""


@dataclass(frozen=True)
class PartSide(Side):
    """One operand's tiles, `extent` rows (or columns) of the product by `depth`, in two parts."""

    @property
    def padded(self) -> tuple[int, int, int]:
        """The shape of a tile in shared memory."""
        return 2, self.extent, self.depth

    @property
    def stored_bytes(self) -> int:
        """Both parts go to shared memory."""
        return 2 * super().stored_bytes

    def element(self, at: Any, r: Any) -> tuple[Any, ...]:
        """Where whole numbers are, once `place` has brought them."""
        return LARGE, at, r

    def layout(self, buffers: int) -> SwizzledLayout:
        """How so many tiles lie in shared memory."""
        return wgmma_layout(tf32, buffers, *self.padded)

    def tasks(self) -> list[tuple[Any, Any]]:
        """Row and first column of each vector of this thread."""
        if self.along_k:
            return super().tasks()
        across = self.extent // self.vector // BESIDE
        lanes = spatial(WARP // BESIDE, BESIDE)
        down, warps = self.depth // lanes.shape[0], self.threads // WARP
        blocks = auto_map(down, across, workers=warps, predicate=False)
        return [(row, column * self.vector) for row, column in (blocks * lanes).tasks(threadIdx.x)]

    @property
    def exact(self) -> bool:
        """Whether warps share the tile evenly."""
        whole = self.extent % (BESIDE * self.vector) == 0 and self.depth % (WARP // BESIDE) == 0
        return super().exact and (whole or self.along_k)

    @part
    def allocate(self, buffers: int) -> Shared:
        tiles = shared_tensor(tf32, (buffers, *self.padded), self.layout(buffers))
        return tiles

    @part
    def store_parts(self, of: Source, registers: Registers, buffer: Int) -> None:
        """This thread's vectors, in two parts."""
        for step in static(range(self.steps)):
            large = register_tensor(tf32, (self.vector,))
            small = register_tensor(tf32, (self.vector,))
            for v in unroll(self.vector):
                large[v] = large_of(registers[step, v])
                small[v] = small_of(registers[step, v], large[v])
            self.put(of, large, buffer, LARGE, step)
            self.put(of, small, buffer, SMALL, step)

    @part
    def store(self, of: Source, registers: Registers, buffer: Int) -> None:
        """The vectors as they are, for the first part."""
        for step in static(range(self.steps)):
            whole = register_tensor(tf32, (self.vector,))
            for v in unroll(self.vector):
                whole[v] = reinterpret(registers[step, v], tf32)
            self.put(of, whole, buffer, LARGE, step)

    @part
    def put(self, of: Source, values: Registers, buffer: Int, which: int, step: int) -> None:
        """One vector of this thread goes to a part of a tile."""
        row, column = self.tasks()[step]
        if not self.along_k:
            for v in unroll(self.vector):
                of.tiles[buffer, which, column + v, row] = values[v]
        else:  # the pattern permutes lines of 16 bytes, and leaves them whole
            line = reinterpret(address(of.tiles, buffer, which, row, column), PointerType(tf32))
            for v in vectorize(self.vector):
                line[v] = values[v]

    def descriptors(self, tiles: Any, buffer: Any, start: Any) -> tuple[Descriptor, Descriptor]:
        """Where a product finds both parts of a tile, from row (column) `start` on."""
        large, small = (
            wgmma_descriptor(address(tiles, buffer, part, start, 0)) for part in (LARGE, SMALL)
        )
        return large, small
