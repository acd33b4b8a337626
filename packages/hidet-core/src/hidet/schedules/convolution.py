"""Convolutions as contractions: rows are output channels, columns are places, r is a window.

The windows of x are never written out: the index functions find their elements, and reading
outside of x gives the zeros of the padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from hidet.compute.sizes import product
from hidet.ir.expr import Value
from hidet.ops.conv import Conv
from hidet.schedules.contraction import Contraction, Index, digits
from hidet.types import Size, TensorType


@dataclass(frozen=True)
class Convolution(Contraction):
    """One product for each group; images are side by side in the columns."""

    op: Conv
    channels_last: bool = False
    """Whether x and the result have their channels last."""
    a_along_k: bool = True
    operands: ClassVar[tuple[str, ...]] = ("b", "a", "bias")
    weight: ClassVar[str] = "a"

    @property
    def a(self) -> TensorType:  # type: ignore[override]
        """The weight."""
        return self.op.weight

    @property
    def b(self) -> TensorType:  # type: ignore[override]
        """The image."""
        return self.op.x

    @property
    def bias(self) -> TensorType | None:  # type: ignore[override]
        """One number for each output channel."""
        return self.op.bias

    @cached_property
    def c(self) -> TensorType:  # type: ignore[override]
        """The result."""
        return self.op.infer()

    @property
    def batch(self) -> Size:  # type: ignore[override]
        """The groups."""
        return self.op.groups

    @cached_property
    def m(self) -> Size:  # type: ignore[override]
        """Output channels of a group."""
        return self.op.weight.shape[0] // self.op.groups

    @cached_property
    def n(self) -> Size:  # type: ignore[override]
        """Places of all images."""
        return product((self.op.x.shape[0], *self.op.spatial()))

    @cached_property
    def k(self) -> Size:  # type: ignore[override]
        """Elements of a window."""
        return product(self.op.weight.shape[1:])

    @property
    def b_along_k(self) -> bool:  # type: ignore[override]
        """Whether the channels of a place lie side by side."""
        return self.channels_last

    @property
    def spills(self) -> bool:
        """The channels after a group's last one are the next group's."""
        return self.op.groups > 1

    @property
    def scattered(self) -> bool:
        """Only windows of one place without padding lie side by side."""
        plain = all(size == 1 for size in (*self.op.weight.shape[2:], *self.op.stride))
        return not (plain and all(pair == (0, 0) for pair in self.op.padding))

    def a_at(self, z: Value, i: Value, r: Value) -> Index:
        return (z * self.m + i, *self.in_window(r))

    def b_at(self, z: Value, r: Value, j: Value) -> Index:
        image, *where = digits(j, (self.op.x.shape[0], *self.op.spatial()))
        channel, *window = self.in_window(r)
        place = self.op.positions(where, window)  # type: ignore[arg-type]
        return self.laid(image, z * self.op.weight.shape[1] + channel, tuple(place))

    def c_at(self, z: Value, i: Value, j: Value) -> Index:
        image, *where = digits(j, (self.op.x.shape[0], *self.op.spatial()))
        return self.laid(image, z * self.m + i, tuple(where))

    def bias_at(self, z: Value, i: Value, j: Value) -> Index:
        return (z * self.m + i,)

    def in_window(self, r: Value) -> Index:
        """The channel and the place in the window of element r."""
        sizes = self.op.weight.shape[1:]
        if not self.channels_last:
            return digits(r, sizes)
        *window, channel = digits(r, (*sizes[1:], sizes[0]))
        return (channel, *window)

    def laid(self, image: Value, channel: Value, place: Index) -> Index:
        """The index of an element of an image."""
        return (image, *place, channel) if self.channels_last else (image, channel, *place)


@lru_cache(maxsize=1024)
def convolution_of(op: Conv) -> Convolution:
    """The contraction that an operator asks for."""
    return Convolution(op)
