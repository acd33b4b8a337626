"""Operands of wgmma: how the copy engine brings their tiles, and where a product finds them.

A tile lies in shared memory as its operand does in memory, swizzled by 128 bytes: rows of 64
elements along k, or panels of 64 rows (or columns) of the product, each with all of the depth.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, index"
from dataclasses import dataclass
from typing import Any

from hidet.compute.sizes import Shape, product, same, same_shape
from hidet.lang import ScriptFunction, address, reinterpret, script, static
from hidet.lang.cuda import (
    fence_proxy_async,
    tensor_map,
    threadIdx,
    tma_load,
    wgmma_descriptor,
    wgmma_layout,
)
from hidet.lang.cuda.wgmma import Descriptor
from hidet.mapping.swizzle import SwizzledLayout
from hidet.schedules.product import Product
from hidet.types import PointerType, Size, TensorType, u64

DEPTH = 64
"""How much of k a stage holds: 128 bytes, the widest swizzle."""
PITCH_BYTES = 16
"""What distances between rows of a tensor map are multiples of. PTX ISA, "Tensors"."""
STEP = 16
"""How much of k one instruction multiplies."""


@dataclass(frozen=True)
class Operand:
    """One operand of a product, of which a block has tiles of `extent` rows (or columns)."""

    product: Product
    left: bool
    """Whether the operand is a, not b."""
    extent: int

    @property
    def of(self) -> TensorType:
        """The operand's type."""
        return self.product.a if self.left else self.product.b

    @property
    def along_k(self) -> bool:
        """Whether rows of the tile run along k."""
        return self.product.a_along_k if self.left else self.product.b_along_k

    @property
    def shape(self) -> tuple[Size, Size, Size]:
        """The operand as a stack of matrices, as they lie in memory."""
        p = self.product
        across = p.m if self.left else p.n
        many = product(self.stack)
        return (many, across, p.k) if self.along_k else (many, p.k, across)

    @property
    def stack(self) -> Shape:
        """The operand's own leading axes."""
        inner = 1 + (len(self.product.rows) if self.left else 1)
        return self.of.shape[: self.of.ndim - inner]

    @property
    def stacked(self) -> bool:
        """Whether each product of the stack has its own matrix; else all have the same one."""
        return not all(same(size, 1) for size in self.stack)

    @property
    def mappable(self) -> bool:
        """Whether a tensor map can describe the operand."""
        pitch = self.shape[-1]
        even = isinstance(pitch, int) and pitch * self.of.dtype.nbytes % PITCH_BYTES == 0
        regular = not self.stacked or same_shape(self.stack, self.product.stack)
        return even and regular and self.of.layout is None

    @property
    def tile(self) -> tuple[int, int]:
        """The shape of a tile as its rows lie."""
        return (self.extent, DEPTH) if self.along_k else (DEPTH, self.extent)

    @property
    def nbytes(self) -> int:
        """The bytes of a tile."""
        return self.extent * DEPTH * self.of.dtype.nbytes

    @property
    def brought(self) -> int:
        """How many rows (or columns) of a tile copies bring: no more than there are, rounded up.

        The copy engine takes as long for rows outside of a tensor as for others.
        """
        across = self.product.m if self.left else self.product.n
        if not (self.along_k and isinstance(across, int)):
            return self.extent
        return min(self.extent, -(-across // 8) * 8)

    @property
    def brought_bytes(self) -> int:
        """The bytes that copies bring for a tile."""
        return self.brought * DEPTH * self.of.dtype.nbytes

    @property
    def piece(self) -> int:
        """How many rows (or columns) of the product one copy brings."""
        return self.brought if self.along_k else DEPTH

    def layout(self, stages: int) -> SwizzledLayout:
        """How the tiles of all stages lie in shared memory."""
        return wgmma_layout(self.of.dtype, stages, *self.tile)

    def map(self, operand: Any) -> Any:
        """The tensor map, inside of a kernel."""
        box = (1, self.piece, DEPTH) if self.along_k else (1, DEPTH, self.piece)
        return tensor_map(operand, box, swizzle="128B", promotion="256B", shape=self.shape)

    def load(self) -> ScriptFunction:
        """A part of a kernel: (map, tiles, stage, barrier, z, start, first).

        One thread starts this block's copies of the tile that begins at `start`, `first` (of k).
        """

        @script
        def load(boxes, tiles, stage, barrier, z, start, first):  # type: ignore[no-untyped-def]
            which = z if self.stacked else 0
            for part in static(range(0, self.brought, self.piece)):
                if self.along_k:
                    into, at = address(tiles, stage, part, 0), (which, start + part, first)
                else:
                    into, at = address(tiles, stage, 0, part), (which, first, start + part)
                tma_load(into, boxes, at, barrier)

        return load

    def clear(self, stages: int, threads: int) -> ScriptFunction:
        """A part of a kernel: (tiles). All threads set what no copy will bring to zero."""
        words = (self.nbytes - self.brought_bytes) // u64.nbytes

        @script
        def clear(tiles):  # type: ignore[no-untyped-def]
            for stage in range(stages):
                # The pattern permutes rows in themselves: those from `brought` on lie together.
                rest = reinterpret(address(tiles, stage, self.brought, 0), PointerType(u64))
                for step in range(-(-words // threads)):
                    if step * threads + threadIdx.x < words:
                        rest[step * threads + threadIdx.x] = 0
            fence_proxy_async("shared::cta")

        return clear

    def descriptor(self, tiles: Any, stage: Any, start: Any) -> Descriptor:
        """Where a product finds the part of a stage's tile that begins at row (column) `start`."""
        at = (start, 0) if self.along_k else (0, start)
        return wgmma_descriptor(address(tiles, stage, *at), transposed=not self.along_k)

    @property
    def step_bytes(self) -> int:
        """From what one instruction multiplies to what the next one does."""
        span = DEPTH * self.of.dtype.nbytes
        return STEP * (self.of.dtype.nbytes if self.along_k else span)
