"""Weights of few bits, several in a byte, with scales for blocks of them."""

from __future__ import annotations

from hidet import ops
from hidet.compute import accumulator
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.types import Size, f32, i32, u8
from hidet_onnx.converters.here import here
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.table import microsoft


@microsoft("MatMulNBits")
def matmul_n_bits(
    a: Tensor, b: Tensor, scales: Tensor, zero_points: Tensor | None = None,
    group_index: Tensor | None = None, bias: Tensor | None = None, *,
    K: int, N: int, accuracy_level: int = 0, bits: int = 4, block_size: int,
    weight_prepacked: int = 0,
) -> Tensor:  # fmt: skip
    """a[..., K] times the transpose of weights [N, K] that are packed, `bits` each, in blocks.

    `accuracy_level` lets ONNX Runtime round `a` to bytes; here it stays as it is. `group_index`
    says for each column which block's scale and zero point it has.
    """
    if bits not in (2, 4, 8) or weight_prepacked:
        raise NotYet("weights packed for a kernel" if weight_prepacked else f"{bits}-bit weights")
    blocks = -(-K // block_size)
    has_bytes = zero_points is None or zero_points.dtype is u8
    scale = ops.reshape(scales, (N, blocks))
    if bits == 4 and has_bytes and group_index is None:
        numbers = ops.reshape(b, (N, blocks * block_size // 2))
        zeros = None if zero_points is None else zeros_of(zero_points, N, blocks, bits)
        return ops.packed_linear(a, numbers, scale, zeros, bias, block=block_size)
    numbers = ops.slice(ops.reshape(unpacked(b, bits), (N, blocks * block_size)), 1, 0, K)
    zero = middle(zero_points, N, blocks, bits)
    real = ops.multiply(
        ops.subtract(numbers, by_column(zero, block_size, K, group_index)),
        by_column(ops.cast(scale, f32), block_size, K, group_index),
    )
    # A GPU multiplies narrow floats fast, as ONNX Runtime does; docs/onnx.md says what that rounds.
    wide = accumulator(a.dtype) if here().device == "cpu" else a.dtype
    found = ops.linear(ops.cast(a, wide), ops.cast(real, wide), bias)
    return ops.cast(found, a.dtype)


def middle(zero_points: Tensor | None, n: int, blocks: int, bits: int) -> Tensor:
    """The zero point of each block as float32, by default the middle of the numbers' range."""
    if zero_points is None:
        return constant([[2.0 ** (bits - 1)] * blocks], f32)
    if zero_points.dtype is u8:
        return ops.cast(zeros_of(zero_points, n, blocks, bits), f32)
    return ops.reshape(ops.cast(zero_points, f32), (n, blocks))


def zeros_of(zero_points: Tensor, n: int, blocks: int, bits: int) -> Tensor:
    """The packed zero points of each row: [n, blocks] of uint8."""
    per_row = ops.reshape(unpacked(zero_points, bits), (n, -1))
    return ops.cast(ops.slice(per_row, 1, 0, blocks), u8)


def by_column(of: Tensor, block: int, columns: int, group_index: Tensor | None) -> Tensor:
    """What each block has, for each of its columns, or for those that name it."""
    if group_index is not None:
        return ops.index_select(of, 1, group_index)
    return ops.slice(ops.repeat_interleave(of, block, 1), 1, 0, columns)


def unpacked(x: Tensor, bits: int) -> Tensor:
    """Bytes as the numbers packed in them, the low bits first, in float32 along the last axis."""
    if x.dtype is not u8:
        raise BadArgument(f"packed numbers are bytes, not {x.dtype.name}")
    wide = ops.cast(ops.unsqueeze(x, -1), i32)
    each = 8 // bits
    shifts = ops.multiply(ops.iota(each, dtype=i32, device=x.device), bits)
    found = ops.bitwise_and(ops.shift_right(wide, shifts), 2**bits - 1)
    return ops.cast(ops.flatten(found, -2, -1), f32)


FOUR_BITS = (0.0, 5.208333333e-03, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
NORMAL = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0,
)  # fmt: skip
CODES = ((*FOUR_BITS, *(-each for each in FOUR_BITS)), NORMAL)
"""What the numbers of 4 bits stand for by `quant_type`: floats of 4 bits, quantiles of a normal
distribution. Source: bitsandbytes."""


@microsoft("MatMulBnb4")
def matmul_bnb4(
    a: Tensor, b: Tensor, largest: Tensor, *, K: int, N: int, block_size: int, quant_type: int,
    training_mode: int = 0, transB: int = 1,
) -> Tensor:  # fmt: skip
    """a[..., K] times the transpose of weights [N, K], two in a byte, the high bits first.

    A weight is what its number stands for times the `largest` of its block of the flattened matrix.
    """
    if not transB or quant_type not in (0, 1):
        raise NotYet("packed weights [K, N]" if not transB else f"quant_type {quant_type}")
    wide = ops.cast(ops.unsqueeze(ops.reshape(b, (-1,)), -1), i32)
    halves = constant([4, 0], i32)
    numbers = ops.flatten(ops.bitwise_and(ops.shift_right(wide, halves), 15))
    real = ops.embedding(constant(CODES[quant_type], f32), ops.slice(numbers, 0, 0, N * K))
    scale = ops.slice(ops.repeat_interleave(ops.cast(largest, f32), block_size, 0), 0, 0, N * K)
    weight = ops.reshape(ops.multiply(real, scale), (N, K))
    return ops.linear(a, ops.cast(weight, a.dtype))


@microsoft("GatherBlockQuantized")
def gather_block_quantized(
    data: Tensor, indices: Tensor, scales: Tensor, zero_points: Tensor | None = None, *,
    bits: int = 4, block_size: int = 128, gather_axis: int = 0, quantize_axis: int = 1,
) -> Tensor:  # fmt: skip
    """Elements along an axis of a quantised tensor, as real numbers; zeros beyond its ends.

    Bytes hold numbers of `bits`, packed along the last axis.
    """
    axis, along = gather_axis % data.ndim, quantize_axis % data.ndim
    if axis == along:
        whole = dequantized(data, scales, zero_points, bits, block_size, along)
        found = inside(whole, indices, axis)
    else:
        numbers, scale = inside(data, indices, axis), inside(scales, indices, axis)
        zero = None if zero_points is None else inside(zero_points, indices, axis)
        moved = along + indices.ndim - 1 if along > axis else along
        found = dequantized(numbers, scale, zero, bits, block_size, moved)
    return ops.where(is_inside(indices, data.shape[axis], found.ndim - axis), found, 0.0)


def inside(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """x[..., indices, ...] along an axis; an index beyond its ends takes the first element."""
    kept = is_inside(indices, x.shape[axis], indices.ndim)
    safe = ops.where(kept, indices, ops.zeros_like(indices))
    return ops.take(x, [*[None] * axis, safe])


def is_inside(indices: Tensor, size: Size, rank: int) -> Tensor:
    """Whether indices are within an axis; with so many axes more than the indices have."""
    found = ops.logical_and(ops.greater_equal(indices, -size), ops.less(indices, size))
    return ops.reshape(found, (*indices.shape, *(1,) * (rank - indices.ndim)))


def dequantized(
    data: Tensor, scales: Tensor, zero_points: Tensor | None, bits: int, block: int, axis: int
) -> Tensor:
    """The real numbers of blocks along an axis."""
    numbers = unpacked(data, bits) if data.dtype is u8 else ops.cast(data, f32)
    if zero_points is not None:
        is_packed = zero_points.dtype is u8
        zero = unpacked(zero_points, bits) if is_packed else ops.cast(zero_points, f32)
        rest = ops.slice(zero, -1, 0, scales.shape[-1])
        numbers = ops.subtract(numbers, spread(rest, numbers, block, axis))
    elif data.dtype is u8:
        numbers = ops.subtract(numbers, 2.0 ** (bits - 1))
    real = ops.multiply(numbers, spread(ops.cast(scales, f32), numbers, block, axis))
    return ops.cast(real, scales.dtype)


def spread(of: Tensor, x: Tensor, block: int, axis: int) -> Tensor:
    """What each block has, for each of its elements; blocks of 0 are the whole axis."""
    if not block or of.shape[axis] == 1:
        return of
    return ops.slice(ops.repeat_interleave(of, block, axis), axis, 0, x.shape[axis])
