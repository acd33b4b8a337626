"""Convolutions on the CPU as products of the weight and the windows of x, in panels."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from hidet.compute import accumulator
from hidet.compute.sizes import same
from hidet.cost import Work
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import Convolution, ImagesApart, convolution_of, has_channels
from hidet.schedules.cpu.conv_rows_layout import COPIED
from hidet.schedules.cpu.panel_elements import is_integers
from hidet.schedules.cpu.panel_layout import Panels, Registers
from hidet.schedules.cpu.panels import panels
from hidet.target import Target

PLACES = 256
"""Positions up to which they are read where they lie. Neighbours in k are so far apart: with more
positions each is in another page, and tiles of them by channels (`conv_pointwise.py`) fill
vectors. Measured at 7 x 7, 9 x 9 and 14 x 14."""


class ConvRegisters(Registers):
    """The tile of sums: output channels by positions, or the other way round."""

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums and operands have registers. Rows of a tile are places of a single image
        alone: panels of the weight would be made for each."""
        if self.flip and not (same(op.x.shape[0], 1) is True and convolution_of(op).pointwise):
            return False
        return self.fits_on(target)

    def work(self, op: Conv, target: Target) -> Work:
        """What `op` costs at this point: planes are written to panels first. Rows of channels are
        just before they are read."""
        p = by_images(op)
        found = self.work_on(p, target)
        copied = 0 if op.channels_last else prod(map(p.estimated, (p.batch, p.k, p.n)))
        return replace(found, flops=found.flops + COPIED * copied)


def by_images(op: Conv) -> Convolution:
    """The products of a convolution: of each image, unless there is one. So neighbours of a tile
    are neighbours in an image, wherever it ends."""
    several = same(op.x.shape[0], 1) is not True and not op.channels_last
    return ImagesApart(op) if several else convolution_of(op)


def of_integers(op: Conv) -> bool:
    """Whether it is of 8-bit integers, whose channels had better lie side by side: they are
    multiplied in groups."""
    return has_channels(op) and is_integers(convolution_of(op))


@schedule_for(
    Conv, target="cpu", space=ConvRegisters, when=lambda op, target: has_channels(op),
    channels_last=lambda op, target: of_integers(op),
)  # fmt: skip
def conv_panels(op: Conv, target: Target, point: ConvRegisters) -> Scheduled:
    """Panels of channels and of windows, then tiles of the result over the threads."""
    return Scheduled(panels(op.name, by_images(op), target, point), point)


class UnpackedRegisters(ConvRegisters):
    """The tile of sums: positions, which are read where they lie, by vectors of channels."""

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums and operands have registers, and positions are rows of a tile."""
        return self.flip and super().fits(op, target)

    def work(self, op: Conv, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_of(Panels(convolution_of(op), self, target, unpacked=True))


def is_unpacked(op: Conv, target: Target) -> bool:
    """Whether positions are those of x, known, of elements that are summed in their own type."""
    if op.channels_last or not has_channels(op):
        return False
    p = convolution_of(op)
    plain = op.x.dtype.is_float and accumulator(op.x.dtype) is op.x.dtype
    return plain and p.pointwise and p.batch == 1 and isinstance(p.n, int) and p.n <= PLACES


@schedule_for(Conv, target="cpu", space=UnpackedRegisters, when=is_unpacked, without_prologue=(0,))
def conv_unpacked(op: Conv, target: Target, point: UnpackedRegisters) -> Scheduled:
    """Panels of channels alone, then tiles of the result over the threads."""
    return Scheduled(panels(op.name, convolution_of(op), target, point, unpacked=True), point)
