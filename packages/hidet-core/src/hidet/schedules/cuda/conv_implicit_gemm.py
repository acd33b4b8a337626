"""Implicit GEMM: convolutions as matmuls whose second operand is never written out."""

from __future__ import annotations

from hidet.ops.conv import Conv
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import ForConvolutions, convolution_of, has_channels
from hidet.schedules.cuda.mma import VECTOR, Warps, by_tensor_cores
from hidet.schedules.cuda.mma_single import PartWarps, in_parts
from hidet.schedules.cuda.mma_tf32 import SingleWarps, in_tf32
from hidet.schedules.cuda.pipeline import Stages, in_stages
from hidet.schedules.cuda.simt import Threads
from hidet.schedules.cuda.tile import tiled
from hidet.schedules.cuda.wgmma_single import PartWarpgroups, by_warpgroups_in_parts
from hidet.target import Target


class ConvWarps(Warps, ForConvolutions):
    """Tiles of a convolution: output channels by positions."""


class ConvStages(Stages, ForConvolutions):
    """Tiles of a convolution with channels last: positions by output channels."""


class ConvSingleWarps(SingleWarps, ForConvolutions):
    """Tiles of a convolution: output channels by positions."""


class ConvPartWarps(PartWarps, ForConvolutions):
    """Tiles of a convolution: output channels by positions."""


class ConvPartWarpgroups(PartWarpgroups, ForConvolutions):
    """Tiles of a convolution: output channels by positions."""


class ConvThreads(Threads, ForConvolutions):
    """Tiles of a convolution: output channels by positions."""


def prefers_channels_last(op: Conv, target: Target) -> bool:
    """Whether copies of neighbours along the sum are to feed tensor cores. Those that keep channels
    apart only follow others there: transposing what they read is all that they would gain. CUDA
    cores find neighbouring positions as easily."""
    p = convolution_of(op)
    return has_channels(op) and (by_tensor_cores(p, target) or in_parts(p, target))


@schedule_for(
    Conv, target="cuda", space=ConvWarps,
    when=lambda op, target: has_channels(op) and by_tensor_cores(convolution_of(op), target),
)  # fmt: skip
def conv_mma(op: Conv, target: Target, point: ConvWarps) -> Scheduled:
    """Tiles of channels by positions on tensor cores."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)


@schedule_for(
    Conv, target="cuda", space=ConvStages, closed=(0, 1), run=VECTOR,
    channels_last=prefers_channels_last,
    when=lambda op, target: has_channels(op) and in_stages(convolution_of(op), target),
)  # fmt: skip
def conv_stages(op: Conv, target: Target, point: ConvStages) -> Scheduled:
    """Tiles of positions by channels on tensor cores, copied several turns ahead."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)


@schedule_for(
    Conv, target="cuda", space=ConvSingleWarps,
    when=lambda op, target: has_channels(op) and in_tf32(convolution_of(op), target),
)  # fmt: skip
def conv_tf32(op: Conv, target: Target, point: ConvSingleWarps) -> Scheduled:
    """Tiles of channels by positions on tensor cores, float32 rounded to tf32."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)


@schedule_for(
    Conv, target="cuda", space=ConvPartWarps, channels_last=prefers_channels_last,
    when=lambda op, target: has_channels(op) and in_parts(convolution_of(op), target),
)  # fmt: skip
def conv_single(op: Conv, target: Target, point: ConvPartWarps) -> Scheduled:
    """Tiles of channels by positions on tensor cores, float32 by 3xTF32."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)


@schedule_for(
    Conv, target="cuda", space=ConvPartWarpgroups,
    when=lambda op, target: has_channels(op)
    and by_warpgroups_in_parts(convolution_of(op), target),
)  # fmt: skip
def conv_wgmma_single(op: Conv, target: Target, point: ConvPartWarpgroups) -> Scheduled:
    """Tiles of channels by positions by warpgroups, float32 by 3xTF32."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)


@schedule_for(
    Conv, target="cuda", space=ConvThreads,
    when=lambda op, target: has_channels(op) and not by_tensor_cores(convolution_of(op), target),
)  # fmt: skip
def conv_simt(op: Conv, target: Target, point: ConvThreads) -> Scheduled:
    """Tiles of channels by positions on CUDA cores."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)
