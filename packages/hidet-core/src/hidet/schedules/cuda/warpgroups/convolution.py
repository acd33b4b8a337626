"""Convolutions of half precision or 8-bit integers, channels last, by warpgroups (sm_90a)."""

from __future__ import annotations

from hidet import options
from hidet.compute.strides import StridedView
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import has_channels
from hidet.schedules.cuda.tiles.mma import by_tensor_cores
from hidet.schedules.cuda.tiles.mma_bytes import along_k_in_bytes
from hidet.schedules.cuda.warpgroups.groups import Warpgroups
from hidet.schedules.cuda.warpgroups.operand import Operand
from hidet.schedules.cuda.warpgroups.tile import contraction
from hidet.schedules.cuda.warpgroups.window import Pixels, Rows, Taps
from hidet.schedules.cuda.warpgroups.windows import Sliding, Windows, windows_of
from hidet.target import Target


class ConvWarpgroups(Warpgroups):
    """Tiles of a convolution with channels last: positions by output channels."""

    def sides(self, p: Windows) -> tuple[Operand, Operand]:
        """The operands' tiles."""
        return image(p, self.block[0]), Taps(p, self.block[1])

    def form(self, op: Conv) -> Windows:
        """The convolution as windows of an image."""
        return windows_of(op)


def image(p: Windows, extent: int) -> Operand:
    """The tiles of x."""
    return Rows(p, extent) if isinstance(p, Sliding) else Pixels(p, extent)


def by_wgmma(op: Conv, target: Target) -> bool:
    """Whether warpgroups may multiply these: by types, target and options, and as they lie.

    TileEpilogue are float32: where float16 was asked for, `conv_mma` has them.
    """
    return (
        op.channels_last
        and op.groups == 1
        and has_channels(op)
        and target.has_feature("wgmma")
        and isinstance(op.each, int)
        and multiplied(windows_of(op), target)
        and image(windows_of(op), 64).mappable
        and Taps(windows_of(op), 64).mappable
    )


def multiplied(p: Windows, target: Target) -> bool:
    """Whether tensor cores may multiply these operands: halves summed in float32, or bytes."""
    half = by_tensor_cores(p, target) and not options.fp16_reduction.get()
    return half or along_k_in_bytes(p, target)


def view_of(op: Conv, place: int) -> StridedView:
    """How tensor maps see x, or the weight."""
    p = windows_of(op)
    return (Taps(p, 64) if place else image(p, 64)).view


@schedule_for(
    Conv, target="cuda", space=ConvWarpgroups, when=by_wgmma, without_prologue=(0, 1), view=view_of
)
def conv_wgmma(op: Conv, target: Target, point: ConvWarpgroups) -> Scheduled:
    """Tiles of positions by channels with `wgmma`, loaded by TMA."""
    return Scheduled(contraction(op.name, windows_of(op), point, target), point)
