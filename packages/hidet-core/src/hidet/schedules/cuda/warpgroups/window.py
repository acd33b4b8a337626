"""Operands of a convolution with channels last, as TMA loads them for warpgroups.

Windows are never written out. Along k a tile is up to 128 bytes of neighbours in one part of the
window. A part is a position in the window, where TMA iterates over the images in its im2col mode
(`Pixels`), or a row of the window, where what windows side by side read is seen as a matrix of rows
that overlap (`Rows`). A copy takes as long for few elements of a row as for all.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from hidet.compute.places import ravel
from hidet.compute.sizes import numbers, product
from hidet.compute.strides import StridedView, in_rows
from hidet.ir.expr import Value, wrap
from hidet.lang import Int, Map, Pointer, address, part
from hidet.lang.cuda import im2col_map, tensor_map, tma_load
from hidet.schedules.contraction import Index, digits
from hidet.schedules.cuda.warpgroups.operand import Operand, OperandTiles, has_even_rows
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.cuda.warpgroups.windows import Windows
from hidet.types import Size, TensorType
from hidet.types.tensor_map import CORNERS, LARGEST_STEP, OFFSETS

PROMOTION = "256B"


@dataclass(frozen=True)
class Windowed(Operand):
    """What x and the weight have in common: k is (parts of the window, neighbours)."""

    product: Windows
    extent: int

    @property
    def along_k(self) -> bool:
        return True

    @property
    def along(self) -> Size:
        return self.product.together

    @property
    def parts(self) -> Size:
        """Parts of the window."""
        return product(self.product.parts)

    @property
    def pieces(self) -> int:
        """Copies for each part of the window."""
        return -(-self.product.together // self.depth)

    @property
    def iterations(self) -> Size:
        return self.parts * self.pieces

    @property
    def mappable(self) -> bool:
        op = self.product.op
        counted = all(isinstance(size, int) for size in (op.each, *op.window))
        return has_even_rows(self.of, op.each) and counted

    @abstractmethod
    def copy(
        self, boxes: Map, target: Pointer, barrier: Pointer, start: Int, place: Int, first: Int
    ) -> None:
        """A part of kernels: the copy of one part of the window, from element `first` on."""

    @part
    def load(
        self, held: OperandTiles, stage: Int, barrier: Pointer, tile: Tile, iteration: Int
    ) -> None:
        place, first = iteration // self.pieces, iteration % self.pieces * self.depth
        start = self.start(tile)
        self.copy(held.boxes, address(held.tiles, stage, 0, 0), barrier, start, place, first)


class Image(Windowed):
    """x: rows are windows."""

    left = True

    @property
    def of(self) -> TensorType:
        return self.product.a

    @property
    def across(self) -> Size:
        return self.product.m


class Pixels(Image):
    """x, position by position of the window."""

    effort = 1.4

    @property
    def corners(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Where the first window begins from the first pixel, and the last one from the last."""
        op = self.product.op
        axes = zip(op.padding, op.dilation, numbers(op.window), strict=True)
        pairs = [(-low, high - by * (size - 1)) for (low, high), by, size in axes]
        return tuple(low for low, _ in pairs), tuple(high for _, high in pairs)

    @property
    def mappable(self) -> bool:
        op, rank = self.product.op, self.of.ndim
        if not (super().mappable and rank in CORNERS):
            return False
        low, high = CORNERS[rank]
        reach = (by * (size - 1) for by, size in zip(op.dilation, numbers(op.window), strict=True))
        return (
            all(low <= corner <= high for corners in self.corners for corner in corners)
            and all(far <= OFFSETS[rank] for far in reach)
            and max(op.stride) <= LARGEST_STEP
        )

    @property
    def view(self) -> StridedView:
        return in_rows(self.of.shape)

    def map(self, operand: Any) -> Any:
        form: dict[str, Any] = {
            "steps": self.product.op.stride,
            "swizzle": self.swizzle,
            "promotion": PROMOTION,
        }
        return im2col_map(operand, self.loaded, self.depth, *self.corners, **form)

    def position(self, start: Value, part: Value, first: Value) -> tuple[Index, Index]:
        """Where TMA begins, and the offsets of the part in each window."""
        op = self.product.op
        place: Any = digits(start, self.product.places)
        image, *where = place
        window = digits(part % self.parts, op.window)
        # Behind the window's end nothing is read: there is no such image.
        image = image + part // self.parts * self.product.places[0]
        begins = op.positions(where, [wrap(0)] * len(where))
        offsets = (at * by for at, by in zip(window, op.dilation, strict=True))
        return (image, *begins, first), tuple(offsets)

    @part
    def copy(
        self, boxes: Map, target: Pointer, barrier: Pointer, start: Int, place: Int, first: Int
    ) -> None:
        at, offsets = self.position(start, place, first)
        tma_load(target, boxes, at, barrier, offsets=offsets)


class Rows(Image):
    """x as a matrix, of which each row begins one place after the last, row by row of the window.

    Rows of as many bytes as a cache line lie in two of them, as few begin where a line does.
    """

    effort = 2.0

    @property
    def view(self) -> StridedView:
        p, op = self.product, self.product.op
        return StridedView((p.m - numbers(op.window)[-1] + 1, p.together), (op.each, 1))

    def map(self, operand: Any) -> Any:
        form: dict[str, Any] = {
            "swizzle": self.swizzle,
            "promotion": PROMOTION,
            "shape": self.view.shape,
            "strides": self.view.strides[:-1],
        }
        return tensor_map(operand, (self.loaded, self.depth), **form)

    def row(self, start: Value, part: Value) -> Value:
        """The row at which the windows from place `start` on have this part."""
        op, sizes = self.product.op, self.product.places[1:]
        window = digits(part % self.parts, self.product.parts)
        steps = [wrap(at) * by for at, by in zip(window, op.dilation, strict=False)]
        # Behind the window's end nothing is read: there is no such row.
        return start + part // self.parts * self.product.m + ravel([*steps, wrap(0)], sizes)

    @part
    def copy(
        self, boxes: Map, target: Pointer, barrier: Pointer, start: Int, place: Int, first: Int
    ) -> None:
        tma_load(target, boxes, (self.row(start, place), first), barrier)


class Taps(Windowed):
    """The weight: columns are output channels."""

    left, ahead = False, True

    @property
    def of(self) -> TensorType:
        return self.product.b

    @property
    def across(self) -> Size:
        return self.product.n

    @property
    def view(self) -> StridedView:
        return in_rows((self.across, self.parts, self.product.together))

    def map(self, operand: Any) -> Any:
        box, shape = (self.loaded, 1, self.depth), self.view.shape
        return tensor_map(operand, box, swizzle=self.swizzle, promotion=PROMOTION, shape=shape)

    @part
    def copy(
        self, boxes: Map, target: Pointer, barrier: Pointer, start: Int, place: Int, first: Int
    ) -> None:
        tma_load(target, boxes, (start, place, first), barrier)
