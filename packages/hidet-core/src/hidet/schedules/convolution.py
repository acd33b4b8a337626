"""Convolutions as contractions, in either layout.

The windows of x are never written out: the index functions find their elements, and reading
outside of x gives the zeros of the padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from hidet.compute.sizes import Shape, product
from hidet.ir.expr import And, Value, wrap
from hidet.ops.windows.conv import Conv
from hidet.schedules.contraction import Contraction, Index, contiguity, digits
from hidet.schedules.typical import estimated
from hidet.types import Size, TensorType

VECTOR_BYTES = 16
"""Bytes that are copied as fast by themselves as with their neighbours."""
IN_PIXEL = 0.4
"""What it takes to find a channel of a pixel by itself, of what elements by themselves take.
Measured: ResNet's first layer by `mma.sync` takes 8.1 us for an image and 137 us for 32."""


@dataclass(frozen=True)
class Convolution(Contraction):
    """One product for each group; images are side by side along the places."""

    op: Conv

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
    def k(self) -> Size:  # type: ignore[override]
        """Elements of a window."""
        return product(self.op.weight.shape[1:])

    @cached_property
    def channels(self) -> Size:
        """Output channels of a group."""
        return self.op.weight.shape[0] // self.op.groups

    @cached_property
    def places(self) -> Shape:
        """Images and the spatial sizes of the result."""
        return (self.op.x.shape[0], *self.op.spatial())

    def estimated(self, size: Size) -> int:
        """A size as a number, for estimates: images are often one."""
        return estimated(size, self.op.x.shape[0])

    @property
    def pointwise(self) -> bool:
        """Whether windows are one place, and lie side by side as places do."""
        plain = all(size == 1 for size in (*self.op.window, *self.op.stride))
        return plain and all(pair == (0, 0) for pair in self.op.padding)


@dataclass(frozen=True)
class ChannelsSecond(Convolution):
    """Rows are output channels, columns are places, and r runs through channels of a window."""

    a_along_k: bool = True
    b_along_k: bool = False
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
    def m(self) -> Size:  # type: ignore[override]
        """Output channels of a group."""
        return self.channels

    @cached_property
    def n(self) -> Size:  # type: ignore[override]
        """Places of all images."""
        return product(self.places)

    def is_there(self, i: Value, j: Value) -> Value:
        """The channels after a group's last one are the next group's."""
        return wrap(i) < self.m if self.op.groups > 1 else True

    @property
    def scattered(self) -> float:
        """Only windows of one place without padding lie side by side."""
        return 0.0 if self.pointwise else 1.0

    def a_at(self, z: Value, i: Value, r: Value) -> Index:
        return (z * self.channels + i, *digits(r, self.op.weight.shape[1:]))

    def b_at(self, z: Value, r: Value, j: Value) -> Index:
        image, *where = digits(j, self.places)
        channel, *window = digits(r, self.op.weight.shape[1:])
        place = self.op.positions(where, window)  # type: ignore[arg-type]
        return (image, z * self.op.each + channel, *place)

    def c_at(self, z: Value, i: Value, j: Value) -> Index:
        image, *where = digits(j, self.places)
        return (image, z * self.channels + i, *where)

    def bias_at(self, z: Value, i: Value, j: Value) -> Index:
        return (z * self.channels + i,)


@dataclass(frozen=True)
class ImagesApart(ChannelsSecond):
    """One product for each image and group: the places of one are known where the number of images
    is not, and finding a place takes no division by it."""

    @property
    def batch(self) -> Size:  # type: ignore[override]
        """Images of groups."""
        return self.op.x.shape[0] * self.op.groups

    @property
    def a_matrices(self) -> Size:
        """The weights of the groups."""
        return self.op.groups

    @cached_property
    def n(self) -> Size:  # type: ignore[override]
        """Places of an image."""
        return product(self.op.spatial())

    def a_at(self, z: Value, i: Value, r: Value) -> Index:
        return super().a_at(wrap(z) % self.op.groups, i, r)

    def b_at(self, z: Value, r: Value, j: Value) -> Index:
        channel, *window = digits(r, self.op.weight.shape[1:])
        place = self.op.positions(digits(j, self.op.spatial()), window)  # type: ignore[arg-type]
        image, group = wrap(z) // self.op.groups, wrap(z) % self.op.groups
        return (image, group * self.op.each + channel, *place)

    def c_at(self, z: Value, i: Value, j: Value) -> Index:
        image, group = wrap(z) // self.op.groups, wrap(z) % self.op.groups
        return (image, group * self.channels + i, *digits(j, self.op.spatial()))

    def bias_at(self, z: Value, i: Value, j: Value) -> Index:
        return super().bias_at(wrap(z) % self.op.groups, i, j)


@dataclass(frozen=True)
class ChannelsLast(Convolution):
    """Rows are places, columns are output channels, and r runs through places of a window: the
    channels of one place of the window are side by side in x and in the weight."""

    a_along_k: bool = True
    b_along_k: bool = True

    @property
    def a(self) -> TensorType:  # type: ignore[override]
        """The image."""
        return self.op.x

    @property
    def b(self) -> TensorType:  # type: ignore[override]
        """The weight."""
        return self.op.weight

    @cached_property
    def m(self) -> Size:  # type: ignore[override]
        """Places of all images."""
        return product(self.places)

    @property
    def n(self) -> Size:  # type: ignore[override]
        """Output channels of a group."""
        return self.channels

    @property
    def run(self) -> Size:
        """Channels of a group, or those of a window's row where they are few and lie side by side:
        pixels by themselves may be padding that is computed as they are read."""
        op = self.op
        plain = op.groups == 1 and op.dilation[-1] == 1 and op.padding[-1] == (0, 0)
        few = not isinstance(op.each, int) or op.each * op.x.dtype.nbytes < VECTOR_BYTES
        return product((op.window[-1], op.each)) if plain and few else op.each

    @property
    def reach(self) -> Size:
        """Channels of a window's row, which may lie partly in padding."""
        op = self.op
        plain = op.groups == 1 and op.dilation[-1] == 1 and op.padding[-1] != (0, 0)
        return product((op.window[-1], op.each)) if plain else self.run

    def is_whole(self, i: Value) -> Value:
        """Whether a row of a window is not partly in padding."""
        if self.reach == self.run:
            return True
        place = wrap(digits(i, self.places)[-1])
        first = place * self.op.stride[-1] - self.op.padding[-1][0]
        return And(wrap(0) <= first, first + self.op.window[-1] <= self.op.sizes[-1])

    @property
    def a_contiguity(self) -> int:
        """Channels of a group."""
        return contiguity(self.op.each)

    @property
    def b_contiguity(self) -> int:
        """Channels of a group."""
        return contiguity(self.op.each)

    @property
    def scattered(self) -> float:
        """Few channels are found one by one, but for the pixel that they have in common."""
        return IN_PIXEL if self.a_contiguity == 1 and not self.pointwise else 0.0

    def a_at(self, z: Value, i: Value, r: Value) -> Index:
        image, *where = digits(i, self.places)
        *window, channel = digits(r, self.op.weight.shape[1:])
        place = self.op.positions(where, window)  # type: ignore[arg-type]
        if self.op.groups > 1 or any(size != 1 for size in self.op.window):
            # What lies behind the window's end may be in the image, or in the next group.
            image = image + r // self.k * self.places[0]
        return (image, *place, z * self.op.each + channel)

    def b_at(self, z: Value, r: Value, j: Value) -> Index:
        return (z * self.channels + j, *digits(r, self.op.weight.shape[1:]))

    def c_at(self, z: Value, i: Value, j: Value) -> Index:
        image, *where = digits(i, self.places)
        return (image, *where, z * self.channels + j)

    def bias_at(self, z: Value, i: Value, j: Value) -> Index:
        return (z * self.channels + j,)

    def is_there(self, i: Value, j: Value) -> Value:
        """The channels after a group's last one are the next group's."""
        return wrap(j) < self.n if self.op.groups > 1 else True


@lru_cache(maxsize=1024)
def convolution_of(op: Conv) -> Convolution:
    """The contraction that an operator asks for."""
    return ChannelsLast(op) if op.channels_last else ChannelsSecond(op)


def has_channels(op: Conv) -> bool:
    """Whether channels meet: a convolution that keeps them apart is no product."""
    return not convolution_of(op).empty and not (op.groups > 1 and op.each == 1)
