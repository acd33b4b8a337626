"""Operands of a convolution with channels last, as the copy engine brings them to warpgroups.

Along k a tile is a few channels of one place of the window after those of another: one copy brings
`span` of them, for all rows of the tile. The engine walks through the places of the images itself
(im2col mode), so that the windows are never written out and the padding is read as zeros.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, index"
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hidet.compute.sizes import numbers, product
from hidet.ir.expr import Value
from hidet.lang import ScriptFunction, address, cdiv, script, static
from hidet.lang.cuda import im2col_map, tensor_map, tma_load
from hidet.schedules.contraction import Index, digits
from hidet.schedules.convolution import ChannelsLast
from hidet.schedules.cuda.wgmma_operand import DEPTH, PITCH_BYTES, Operand
from hidet.types import Size, TensorType
from hidet.types.tensor_map import CORNERS, LARGEST_STEP, OFFSETS

SPANS = (64, 32, 16)
"""Channels that one copy may bring: whole swizzles, and no less than an instruction multiplies."""


@dataclass(frozen=True)
class Windowed(Operand):
    """What x and the weight have in common: k is (places of the window, channels)."""

    product: ChannelsLast
    extent: int

    @property
    def along_k(self) -> bool:
        return True

    @cached_property
    def span(self) -> int:  # type: ignore[override]
        """Channels that one copy brings: as few as possible that there are not, then as many."""
        each = self.product.op.each
        return min(SPANS, key=lambda span: (-(-each // span) * span, -span))

    @property
    def places(self) -> Size:
        """Places of the window."""
        return product(self.product.op.window)

    @property
    def parts(self) -> int:
        """Copies for the channels of one place of the window."""
        return int(cdiv(self.product.op.each, self.span))

    @property
    def turns(self) -> Size:
        found: Size = cdiv(self.places * self.parts, DEPTH // self.span)
        return found

    @property
    def mappable(self) -> bool:
        each = self.product.op.each
        even = isinstance(each, int) and each * self.of.dtype.nbytes % PITCH_BYTES == 0
        return even and self.of.layout is None

    @abstractmethod
    def bring(self) -> ScriptFunction:
        """A part of a kernel: (map, target, barrier, start, place of the window, first channel)."""

    def load(self) -> ScriptFunction:
        bring, copies = self.bring(), DEPTH // self.span

        @script
        def load(boxes, tiles, stage, barrier, z, start, turn):  # type: ignore[no-untyped-def]
            for copy in static(range(copies)):
                number = turn * copies + copy
                into = address(tiles, stage, 0, copy * self.span)
                place, channel = number // self.parts, number % self.parts * self.span
                bring(boxes, into, barrier, start, place, channel)

        return load


@dataclass(frozen=True)
class Pixels(Windowed):
    """x: rows are places of the result, that is of the window in x."""

    @property
    def of(self) -> TensorType:
        return self.product.a

    @property
    def across(self) -> Size:
        return self.product.m

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
        known = all(isinstance(size, int) for size in op.window)
        if not (known and super().mappable and rank in CORNERS):
            return False
        low, high = CORNERS[rank]
        reach = (by * (size - 1) for by, size in zip(op.dilation, numbers(op.window), strict=True))
        return (
            all(low <= corner <= high for corners in self.corners for corner in corners)
            and all(far <= OFFSETS[rank] for far in reach)
            and max(op.stride) <= LARGEST_STEP
        )

    def map(self, operand: Any) -> Any:
        swizzle = f"{self.span * self.of.dtype.nbytes}B"
        form = {"steps": self.product.op.stride, "swizzle": swizzle, "promotion": "256B"}
        return im2col_map(operand, self.brought, self.span, *self.corners, **form)

    def position(self, start: Value, place: Value, channel: Value) -> tuple[Index, Index]:
        """Where the engine begins, and the offsets of the window's place in each window."""
        op, many = self.product.op, self.places
        image, *where = digits(start, self.product.places)
        window = digits(place % many, op.window)
        # Behind the window's end nothing is read: there is no such image.
        image = image + place // many * self.product.places[0]
        begins = op.positions(where, (0,) * len(where))
        offsets = (at * by for at, by in zip(window, op.dilation, strict=True))
        return (image, *begins, channel), tuple(offsets)

    def bring(self) -> ScriptFunction:
        @script
        def bring(boxes, target, barrier, start, place, channel):  # type: ignore[no-untyped-def]
            at, offsets = self.position(start, place, channel)
            tma_load(target, boxes, at, barrier, offsets=offsets)

        return bring


@dataclass(frozen=True)
class Taps(Windowed):
    """The weight: columns are output channels."""

    @property
    def of(self) -> TensorType:
        return self.product.b

    @property
    def across(self) -> Size:
        return self.product.n

    def map(self, operand: Any) -> Any:
        op, swizzle = self.product.op, f"{self.span * self.of.dtype.nbytes}B"
        shape, box = (self.across, self.places, op.each), (self.brought, 1, self.span)
        return tensor_map(operand, box, swizzle=swizzle, promotion="256B", shape=shape)

    def bring(self) -> ScriptFunction:
        @script
        def bring(boxes, target, barrier, start, place, channel):  # type: ignore[no-untyped-def]
            tma_load(target, boxes, (start, place, channel), barrier)

        return bring
