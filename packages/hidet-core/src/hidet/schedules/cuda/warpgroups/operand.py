"""Operands of wgmma: how TMA loads their tiles, and where a product finds them.

A tile lies in shared memory as its operand does in memory, swizzled by 128 bytes: rows of as many
elements along k (64 of half precision, 128 bytes of integers), or panels of as many rows (or
columns) of the product, each with all of the depth. Where there are fewer integers side by side,
rows are as short as a narrower swizzle lets them be: nothing is loaded that is not there, and more
blocks have room (a matmul of 100,352 x 64 x 256 with a shortcut: 150 to 107 us, H100).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from hidet.compute.strides import StridedView
from hidet.lang import Int, Map, Pointer, Shared, address, part, record, reinterpret
from hidet.lang.cuda import fence_proxy_async, threadIdx, wgmma_descriptor, wgmma_layout
from hidet.lang.cuda.wgmma import Descriptor
from hidet.mapping.swizzle import SwizzledLayout
from hidet.schedules.contraction import contiguity
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.target.measured import WgmmaCycles
from hidet.types import DType, PointerType, Size, TensorType, u64

DEPTH_BYTES = 128
"""How much of k a stage holds: the widest swizzle."""
SWIZZLES = (32, 64, DEPTH_BYTES)
"""How long rows may be."""
PITCH_BYTES = 16
"""What distances between rows of a tensor map are multiples of. PTX ISA, "Tensors"."""
STEP_BYTES = 32
"""How much of k one instruction multiplies."""


def has_even_rows(of: TensorType, pitch: Size) -> bool:
    """Whether rows of so many elements begin at multiples of 16 bytes, as those of tensor maps do;
    of a size that only calls tell, its bounds have to say so."""
    return contiguity(pitch) * of.dtype.nbytes % PITCH_BYTES == 0 and of.layout is None


def depth_of(dtype: DType) -> int:
    """How many elements along k a stage holds."""
    return DEPTH_BYTES // dtype.nbytes


def step_of(dtype: DType) -> int:
    """How many elements along k one instruction multiplies."""
    return STEP_BYTES // dtype.nbytes


class Operand(ABC):
    """One operand of a contraction, of which a block has tiles of `extent` rows (or columns)."""

    left: bool
    """Whether the operand is a, whose tiles are rows of the product, not b."""
    extent: int
    effort = 1.0
    """How much longer copies take for a row than for one that is a cache line; measured."""

    @property
    @abstractmethod
    def along(self) -> Size:
        """Neighbours along k that copies find side by side, in pieces of `depth`."""

    @property
    def crosses_lines(self) -> bool:
        """Whether rows that copies load begin in the midst of cache lines."""
        return False

    def copying(self, taken: WgmmaCycles, share: float) -> float:
        """How many rows of a cache line take as long as the copies of an iteration, where `share`
        of all multiprocessors copy: what crosses lines is as much more for the L2 cache.
        """
        each = max(1, taken.unaligned_row * share) if self.crosses_lines else 1
        if not (self.along_k and isinstance(self.along, int)) or self.along % self.depth == 0:
            return self.loaded * self.effort * each
        pieces = -(-self.along // self.depth)
        return self.loaded * self.effort * (each + (taken.partial_row - each) / pieces)

    @property
    def ahead(self) -> bool:
        """Whether tiles are loaded before the kernels before have ended: most likely the operand is
        a weight, which none of them writes."""
        return False

    @property
    @abstractmethod
    def of(self) -> TensorType:
        """The operand's type."""

    @property
    @abstractmethod
    def along_k(self) -> bool:
        """Whether rows of the tile run along k."""

    @property
    @abstractmethod
    def across(self) -> Size:
        """How many rows (or columns) of the product there are."""

    @property
    @abstractmethod
    def mappable(self) -> bool:
        """Whether a tensor map can describe the operand."""

    @property
    @abstractmethod
    def iterations(self) -> Size:
        """How many tiles there are along k."""

    @property
    @abstractmethod
    def view(self) -> StridedView:
        """How the tensor map sees the operand."""

    @abstractmethod
    def map(self, operand: Any) -> Any:
        """The tensor map, inside of a kernel."""

    @abstractmethod
    def load(
        self, held: OperandTiles, stage: Int, barrier: Pointer, tile: Tile, iteration: Int
    ) -> None:
        """A part of kernels: one thread starts the copies of what a tile of the result needs at
        k-iteration `iteration`."""

    def start(self, tile: Tile) -> Any:
        """The first row (or column) of a tile of the result."""
        return tile.top if self.left else tile.left

    @property
    def row_bytes(self) -> int:
        """How much of k a stage holds. Both operands have bytes side by side: they agree."""
        if self.of.dtype.nbytes > 1 or not isinstance(self.along, int):
            return DEPTH_BYTES
        return next((span for span in SWIZZLES if self.along <= span), DEPTH_BYTES)

    @property
    def depth(self) -> int:
        """How many elements along k a stage holds."""
        return self.row_bytes // self.of.dtype.nbytes

    @property
    def swizzle(self) -> str:
        """The swizzle of a tensor map."""
        return f"{self.row_bytes}B"

    @property
    def tile(self) -> tuple[int, int]:
        """The shape of a tile as its rows lie."""
        return (self.extent, self.depth) if self.along_k else (self.depth, self.extent)

    @property
    def nbytes(self) -> int:
        """The bytes of a tile."""
        return self.extent * self.row_bytes

    @property
    def loaded(self) -> int:
        """How many rows (or columns) of a tile copies load: no more than there are, rounded up.

        TMA takes as long for rows outside of a tensor as for others.
        """
        if not (self.along_k and isinstance(self.across, int)):
            return self.extent
        return min(self.extent, -(-self.across // 8) * 8)

    @property
    def loaded_bytes(self) -> int:
        """The bytes that copies load for a tile."""
        return self.loaded * self.row_bytes

    def layout(self, stages: int) -> SwizzledLayout:
        """How the tiles of all stages lie in shared memory."""
        return wgmma_layout(self.of.dtype, stages, *self.tile, swizzle=self.row_bytes)

    @part
    def clear(self, tiles: Shared, stages: int, threads: int) -> None:
        """All threads set what no copy will write to zero."""
        words = (self.nbytes - self.loaded_bytes) // u64.nbytes
        for stage in range(stages):
            # The pattern permutes rows in themselves: those from `loaded` on lie together.
            rest = reinterpret(address(tiles, stage, self.loaded, 0), PointerType(u64))
            for step in range(-(-words // threads)):
                if step * threads + threadIdx.x < words:
                    rest[step * threads + threadIdx.x] = 0
        fence_proxy_async("shared::cta")

    def descriptor(self, tiles: Any, stage: Any, start: Any) -> Descriptor:
        """Where a product finds the part of a stage's tile that begins at row (column) `start`."""
        at = (start, 0) if self.along_k else (0, start)
        return wgmma_descriptor(address(tiles, stage, *at), transposed=not self.along_k)

    @property
    def step_bytes(self) -> int:
        """From what one instruction multiplies to what the next one does."""
        return STEP_BYTES if self.along_k else step_of(self.of.dtype) * DEPTH_BYTES


@record
class OperandTiles:
    """The tiles of an operand in shared memory, and the map by which copies find them."""

    side: Operand
    boxes: Map
    tiles: Shared
