"""Convolutions of half precision with channels last by warpgroups (sm_90a)."""

from __future__ import annotations

from hidet import options
from hidet.ops.conv import Conv
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import (
    ChannelsLast,
    Convolution,
    ForConvolutions,
    convolution_of,
    has_channels,
)
from hidet.schedules.cuda.mma import by_tensor_cores
from hidet.schedules.cuda.warpgroups import Warpgroups
from hidet.schedules.cuda.wgmma_operand import Operand
from hidet.schedules.cuda.wgmma_tile import by_warpgroups
from hidet.schedules.cuda.wgmma_window import Pixels, Taps
from hidet.target import Target


class ConvWarpgroups(Warpgroups, ForConvolutions):
    """Tiles of a convolution with channels last: places by output channels."""

    def sides(self, p: ChannelsLast) -> tuple[Operand, Operand]:
        """The operands' tiles."""
        return Pixels(p, self.block[0]), Taps(p, self.block[1])


def by_wgmma(p: Convolution, target: Target) -> bool:
    """Whether warpgroups may multiply these: by types, target and options, and as they lie.

    Sums are float32: where float16 was asked for, `conv_mma` has them.
    """
    return (
        isinstance(p, ChannelsLast)
        and p.op.groups == 1
        and by_tensor_cores(p, target)
        and target.has_feature("wgmma")
        and not options.fp16_reduction.get()
        and Pixels(p, 64).mappable
        and Taps(p, 64).mappable
    )


@schedule_for(
    Conv, target="cuda", space=ConvWarpgroups, closed=(0, 1),
    when=lambda op, target: has_channels(op) and by_wgmma(convolution_of(op), target),
)  # fmt: skip
def conv_wgmma(op: Conv, target: Target, point: ConvWarpgroups) -> Scheduled:
    """Tiles of places by channels with `wgmma`, brought by the copy engine."""
    return Scheduled(by_warpgroups(op.name, convolution_of(op), point, target), point)
