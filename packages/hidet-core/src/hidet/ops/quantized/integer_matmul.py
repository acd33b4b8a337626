"""Matmuls and convolutions of 8-bit integers minus their zero points, as int32.

Both are those of the integers as they are, which have fast schedules, less what the zero points
add: a multiple of the sums of the other operand's elements along what is summed up. Sums of weights
are computed once. Sums wrap as int32 does, so nothing of this is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet.compute.sizes import Shape, numbers, product
from hidet.errors import DtypeMismatch
from hidet.graph import Tensor
from hidet.ops.elementwise.binary import bitwise_xor, multiply, subtract
from hidet.ops.elementwise.select import where
from hidet.ops.indexing.selection import repeat_interleave
from hidet.ops.products.matmul import matmul
from hidet.ops.quantized.quantize import known_number
from hidet.ops.reductions.reduce import sum as total_of
from hidet.ops.tensors.bitcast import bitcast
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import Full, full, ones
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.shape import Reshape, reshape, unsqueeze
from hidet.ops.windows.conv import Pairs, conv, each_axis, sides
from hidet.ops.windows.pool import avg_pool
from hidet.types import boolean, i8, i32, u8

SIGN = 128
"""What is between an unsigned byte and the signed one that stands for it."""


def matmul_integer(
    a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None, *,
    transpose_b: bool = False,
) -> Tensor:  # fmt: skip
    """(a - a_zero)[..., m, k] @ (b - b_zero)[..., k, n] of int8 or uint8, as int32.

    `a_zero` has one element or one for each row, `b_zero` one or one for each column. With
    `transpose_b` b is [..., n, k]. Source: ONNX MatMulInteger-10.
    """
    check_bytes(a, b)
    return multiplied(a, b, known_number(a_zero), known_number(b_zero), transpose_b)


def multiplied(
    a: Tensor, b: Tensor, a_zero: Tensor | None, b_zero: Tensor | None, transpose_b: bool
) -> Tensor:
    """`matmul_integer` of zero points as the graph knows them."""
    b, b_zero = signed(b, b_zero)
    found = matmul(a, b, transpose_b=transpose_b, dtype=i32)
    left, right = spread(a_zero, (-1, 1)), spread(b_zero, (1, -1))
    if left is not None:
        of_columns = unsqueeze(total_of(b, -1 if transpose_b else -2, dtype=i32), -2)
        found = subtract(found, multiply(left, of_columns))
    if right is not None:
        centred = cast(a, i32) if left is None else subtract(cast(a, i32), left)
        found = subtract(found, multiply(total_of(centred, -1, keepdims=True, dtype=i32), right))
    return found


def conv_integer(
    x: Tensor, weight: Tensor, x_zero: Tensor | None = None, weight_zero: Tensor | None = None, *,
    stride: int | Sequence[int] = 1, padding: Any = 0, dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The convolution of (x - x_zero)[n, c, ...] with (weight - weight_zero)[k, c / groups, ...] of
    int8 or uint8, as int32; what is added around x is its zero point.

    `x_zero` has one element, `weight_zero` one or one for each output channel. Source: ONNX
    ConvInteger-10.
    """
    check_bytes(x, weight)
    rank = x.ndim - 2
    return convolved(
        x, weight, known_number(x_zero), known_number(weight_zero), sides(padding, rank),
        each_axis(stride, rank), each_axis(dilation, rank), groups,
    )  # fmt: skip


def convolved(
    x: Tensor, weight: Tensor, x_zero: Tensor | None, weight_zero: Tensor | None, around: Pairs,
    stride: Sequence[int], dilation: Sequence[int], groups: int,
) -> Tensor:  # fmt: skip
    """`conv_integer` of zero points as the graph knows them, with a number for each axis."""
    weight, weight_zero = signed(weight, weight_zero)
    zero, channels = spread(x_zero, ()), (-1, *(1,) * (x.ndim - 2))
    if zero is not None and x_zero is not None and any(any(pair) for pair in around):
        x, around = surrounded(x, x_zero, around), ((0, 0),) * len(around)
    found = conv(
        x, weight, stride=stride, padding=around, dilation=dilation, groups=groups, dtype=i32
    )
    if zero is not None:
        of_channels = total_of(weight, tuple(range(1, weight.ndim)), dtype=i32)
        found = subtract(found, multiply(zero, reshape(of_channels, channels)))
    column = spread(weight_zero, channels)
    if column is not None:
        sums = sums_of_windows(x, weight.shape, zero, around, stride, dilation)
        found = subtract(found, multiply(sums, column))
    return found


def sums_of_windows(
    x: Tensor, weight: Shape, zero: Tensor | None, around: Pairs, stride: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:  # fmt: skip
    """The sums of x - zero over the windows of a convolution with a weight of that shape: one for
    each group, or one for each output channel. Channels are summed first, then one axis at a time.
    """
    each, *taps = numbers(weight[1:])
    groups = numbers((x.shape[1] // each,))[0]
    grouped = reshape(x, (x.shape[0], groups, each, *x.shape[2:]))
    sums = pad(total_of(grouped, 2, dtype=i32), ((0, 0), (0, 0), *around))
    for axis, steps in enumerate(zip(taps, stride, dilation, strict=True)):
        size, step, apart = ([n if a == axis else 1 for a in range(len(taps))] for n in steps)
        sums = avg_pool(sums, size, stride=step, dilation=apart, divisor=1)
    if zero is not None:
        sums = subtract(sums, multiply(zero, product((each, *taps))))
    if groups == 1:
        return sums
    return repeat_interleave(sums, numbers(weight)[0] // groups, 1)


def check_bytes(*operands: Tensor) -> None:
    """DtypeMismatch unless all are of 8-bit integers."""
    for each in operands:
        if each.dtype not in (i8, u8):
            raise DtypeMismatch(f"operands are int8 or uint8, not {each.dtype.name}")


def signed(weight: Tensor, zero: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Unsigned weights as signed ones, which machines multiply by bytes of either kind."""
    if weight.dtype is not u8:
        return weight, zero
    moved = full((), -SIGN, i32, device=weight.device)
    if zero is not None:
        value = number_of(zero)
        same = None if value is None else full((), value - SIGN, i32, device=weight.device)
        moved = subtract(cast(zero, i32), SIGN) if same is None else same
    return bitcast(bitwise_xor(weight, SIGN), i8), moved


def spread(zero: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """A zero point as int32, one for all or of a shape that broadcasts; None if it is 0."""
    if zero is None or number_of(zero) == 0:
        return None
    wide = cast(zero, i32)
    if wide.size == 1:
        return reshape(wide, ())
    return reshape(wide, shape) if wide.ndim == 1 else wide


def surrounded(x: Tensor, zero: Tensor, around: Sequence[tuple[int, int]]) -> Tensor:
    """x with its zero point around it."""
    widths = ((0, 0), (0, 0), *around)
    value = number_of(zero)
    if value is not None:
        return pad(x, widths, value=value)
    inside = pad(ones((1, 1, *x.shape[2:]), boolean, device=x.device), widths)
    return where(inside, pad(x, widths), cast(zero, x.dtype))


def number_of(of: Tensor) -> int | None:
    """The number that the graph says all elements are; None if it says none."""
    while of.trace is not None:
        op = of.trace[0].op
        if isinstance(op, Full):
            return int(op.value)
        if not isinstance(op, Reshape):
            return None
        of = of.trace[0].inputs[0]
    return None
