"""Operands of a matmul, as TMA loads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.compute.sizes import Shape, product, same, same_shape
from hidet.compute.strides import StridedView, in_rows
from hidet.lang import Int, Pointer, address, cdiv, part, static
from hidet.lang.cuda import tensor_map, tma_load
from hidet.schedules.cuda.warpgroups.operand import (
    DEPTH_BYTES,
    Operand,
    OperandTiles,
    has_even_rows,
)
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.product import Product
from hidet.types import Size, TensorType


@dataclass(frozen=True)
class Matrix(Operand):
    """An operand that lies in either order, alone or in a stack."""

    product: Product
    left: bool
    extent: int

    @property
    def of(self) -> TensorType:
        return self.product.a if self.left else self.product.b

    @property
    def along_k(self) -> bool:
        return self.product.a_along_k if self.left else self.product.b_along_k

    @property
    def across(self) -> Size:
        return self.product.m if self.left else self.product.n

    @property
    def along(self) -> Size:
        return self.product.k

    @property
    def iterations(self) -> Size:
        found: Size = cdiv(self.product.k, self.depth)
        return found

    @property
    def shape(self) -> tuple[Size, Size, Size]:
        """The operand as a stack of matrices, as they lie in memory."""
        many, k = product(self.stack), self.product.k
        return (many, self.across, k) if self.along_k else (many, k, self.across)

    @property
    def view(self) -> StridedView:
        return in_rows(self.shape)

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
    def ahead(self) -> bool:
        return not self.left and not self.stacked

    @property
    def mappable(self) -> bool:
        pitch, k = self.shape[-1], self.product.k
        # There is no tensor map of no elements, as k may be where only calls tell it.
        there = isinstance(pitch, int) or isinstance(k, int)
        regular = not self.stacked or same_shape(self.stack, self.product.stack)
        return has_even_rows(self.of, pitch) and there and regular

    @property
    def crosses_lines(self) -> bool:
        size = self.shape[-1]
        pitch = size * self.of.dtype.nbytes if isinstance(size, int) else 0
        return pitch > DEPTH_BYTES and pitch % DEPTH_BYTES != 0

    @property
    def piece(self) -> int:
        """How many rows (or columns) of the product one copy loads."""
        return self.loaded if self.along_k else self.depth

    def map(self, operand: Any) -> Any:
        box = (1, self.piece, self.depth) if self.along_k else (1, self.depth, self.piece)
        # Around a piece of a row that lies in two cache lines, 256 bytes load much that is not its
        # own: 2040 x 2040 x 2040 took 35.0 us with them, 30.1 with 128 (H200).
        fetched = "128B" if self.crosses_lines else "256B"
        return tensor_map(operand, box, swizzle=self.swizzle, promotion=fetched, shape=self.shape)

    @part
    def load(
        self, held: OperandTiles, stage: Int, barrier: Pointer, tile: Tile, iteration: Int
    ) -> None:
        which, first, start = (
            tile.z if self.stacked else 0,
            iteration * self.depth,
            self.start(tile),
        )
        for along in static(range(0, self.loaded, self.piece)):
            if self.along_k:
                into, at = address(held.tiles, stage, along, 0), (which, start + along, first)
            else:
                into, at = address(held.tiles, stage, 0, along), (which, first, start + along)
            tma_load(into, held.boxes, at, barrier)
