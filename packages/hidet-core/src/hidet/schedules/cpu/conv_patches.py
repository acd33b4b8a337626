"""Convolutions on the CPU whose windows do not overlap, as patch embeddings: panels of patches.

Each element of x is in one window at most, so that panels copy x once, a run for each row of a
window; rows of a tile are patches, whose number need not fill vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.cost import Work
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import ChannelsSecond, has_channels
from hidet.schedules.cpu.panel_layout import Registers
from hidet.schedules.cpu.panels import panels
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import Size


@dataclass(frozen=True)
class Patches(ChannelsSecond):
    """The product of such a convolution: neighbours along k are neighbours in a window's row."""

    b_along_k: bool = True

    @property
    def run(self) -> Size:
        """Elements of a window's row."""
        return self.op.window[-1]


class PatchRegisters(Registers):
    """The tile of accumulators: patches by vectors of output channels."""

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether accumulators and operands have registers, and rows of the tile are patches."""
        return self.flip and self.fits_on(target)

    def work(self, op: Conv, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_on(Patches(op), target)


def is_of_patches(op: Conv, target: Target) -> bool:
    """Whether windows of several positions, of floats, neither overlap nor reach into padding."""
    if op.channels_last or not (op.x.dtype.is_float and has_channels(op)):
        return False
    sizes = (*op.window, *op.spatial(), *op.weight.shape)
    if not all(isinstance(size, int) for size in sizes) or all(size == 1 for size in op.window):
        return False
    apart = all(estimated(size) <= by for size, by in zip(op.window, op.stride, strict=True))
    return apart and set(op.dilation) == {1} and set(op.padding) == {(0, 0)}


@schedule_for(Conv, target="cpu", space=PatchRegisters, when=is_of_patches)
def conv_patches(op: Conv, target: Target, point: PatchRegisters) -> Scheduled:
    """Panels of the weight and of patches, then tiles of the result over the threads."""
    return Scheduled(panels(op.name, Patches(op), target, point), point)
