"""Matmuls and convolutions of 8-bit integers on tensor cores."""

from __future__ import annotations

from hidet.ops.conv import Conv
from hidet.ops.matmul import Linear, Matmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import ForConvolutions, convolution_of, has_channels
from hidet.schedules.cuda.mma_bytes import VECTOR, ByteStages, ByteWarps, bytes_in_stages, in_bytes
from hidet.schedules.cuda.tile import tiled
from hidet.schedules.product import ForProducts, product_of
from hidet.target import Target


class MatmulByteWarps(ByteWarps, ForProducts):
    """Tiles of a matmul."""


class MatmulByteStages(ByteStages, ForProducts):
    """Tiles of a matmul, copied several turns ahead."""


class ConvByteWarps(ByteWarps, ForConvolutions):
    """Tiles of a convolution."""


class ConvByteStages(ByteStages, ForConvolutions):
    """Tiles of a convolution, copied several turns ahead."""


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulByteWarps,
    when=lambda op, target: in_bytes(product_of(op), target),
)  # fmt: skip
def matmul_bytes(op: Matmul | Linear, target: Target, point: MatmulByteWarps) -> Scheduled:
    """Tiles of the matmul by warps with `mma.sync` on bytes."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulByteStages, closed=(0, 1), run=VECTOR,
    when=lambda op, target: bytes_in_stages(product_of(op), target),
)  # fmt: skip
def matmul_byte_stages(op: Matmul | Linear, target: Target, point: MatmulByteStages) -> Scheduled:
    """Tiles of the matmul by warps with `mma.sync` on bytes that are copied ahead."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)


def are_bytes(op: Conv, target: Target) -> bool:
    """Whether tensor cores may multiply its channels as bytes; they had better lie side by side."""
    return has_channels(op) and in_bytes(convolution_of(op), target)


@schedule_for(
    Conv, target="cuda", space=ConvByteWarps, channels_last=are_bytes, when=are_bytes
)  # fmt: skip
def conv_bytes(op: Conv, target: Target, point: ConvByteWarps) -> Scheduled:
    """Tiles of the convolution by warps with `mma.sync` on bytes."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)


@schedule_for(
    Conv, target="cuda", space=ConvByteStages, closed=(0, 1), run=VECTOR,
    when=lambda op, target: has_channels(op) and bytes_in_stages(convolution_of(op), target),
)  # fmt: skip
def conv_byte_stages(op: Conv, target: Target, point: ConvByteStages) -> Scheduled:
    """Tiles of the convolution by warps with `mma.sync` on bytes that are copied ahead."""
    return Scheduled(tiled(op.name, convolution_of(op), point, target), point)
