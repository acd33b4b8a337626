"""Pointwise convolutions on the CPU, by vectors of neighbouring positions of x where it lies.

An image is one row of its positions, and x ends with it: the last slab begins earlier than it
would, computes some positions again, and writes those that are left.
"""

from __future__ import annotations

from math import prod
from typing import Any

from hidet.compute import accumulator
from hidet.cost import Work
from hidet.ir.expr import Expr
from hidet.lang import cdiv, load
from hidet.lang.functions import minimum
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import digits
from hidet.schedules.convolution import convolution_of, has_channels
from hidet.schedules.cpu.conv_rows import in_slabs
from hidet.schedules.cpu.conv_rows_layout import Pair, Rows, Tile, fewest
from hidet.schedules.typical import estimated
from hidet.target import Target


class PointwiseTile(Tile):
    """The tile of sums: output channels by vectors of positions."""

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether it has registers, and an image as many positions."""
        lanes = max(2, target.vector_bytes // accumulator(op.x.dtype).nbytes)
        enough = prod(map(estimated, op.spatial())) >= self.vectors * lanes
        return enough and super().fits(op, target)

    def work(self, op: Conv, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_of(Pointwise(op, self, target))


class Pointwise(Rows):
    """Sizes of slabs of images that are one row each."""

    is_copied = False

    def measure(self) -> None:
        """All positions are one line; windows and steps are one position."""
        self.out = 1, prod(map(estimated, self.op.spatial()))

    def slab(self, least: int, most: int) -> Pair:
        """Of so many tiles that there are positions for them."""
        columns = self.out[1]
        most = min(most, columns // self.width, cdiv(cdiv(columns, self.width), least))
        return 1, fewest(columns, most, self.width) * self.width

    def begin(self, top: Any, left: Any) -> Any:
        """Earlier than its own positions where it would go beyond x."""
        last = self.out[1] - self.broad
        return left if self.across * self.broad == self.out[1] else minimum(left, last)

    def position(self, line: Any, column: Any) -> tuple[Any, ...]:
        """A position as x and the result have it."""
        return digits(column, self.op.spatial())

    def window_position(self, tap: Any) -> tuple[Any, ...]:
        """The only position of a window."""
        return digits(tap, self.op.window)

    def vector(self, source: Any, plane: Any, phase: Any, position: Any) -> Expr:
        """Neighbours in a plane."""
        image, channel = plane // self.op.x.shape[1], plane % self.op.x.shape[1]
        return load(source, image, channel, *self.position(0, position), lanes=self.lanes)


def is_pointwise(op: Conv, target: Target) -> bool:
    """Whether positions of x and of the result are the same ones, known, of elements that are
    summed in their own type."""
    if op.channels_last or not has_channels(op) or not convolution_of(op).pointwise:
        return False
    sizes = (*op.spatial(), *op.weight.shape)
    plain = op.x.dtype.is_float and accumulator(op.x.dtype) is op.x.dtype
    return plain and all(isinstance(size, int) for size in sizes)


@schedule_for(Conv, target="cpu", space=PointwiseTile, when=is_pointwise, without_prologue=(0,))
def conv_pointwise(op: Conv, target: Target, point: PointwiseTile) -> Scheduled:
    """Slabs of tiles of channels by positions over the threads."""
    return Scheduled(in_slabs(Pointwise(op, point, target)), point)
