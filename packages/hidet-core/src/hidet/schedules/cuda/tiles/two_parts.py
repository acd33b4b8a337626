"""3xTF32: matmuls of float32 on tensor cores, operands split in two, by `mma.sync` m16n8k8.

What tf32 leaves of a float32 is, but for its last bit, another tf32: three products of these parts
are as exact as float32, where one alone has ten bits of fraction. The units cut sums off where
ordinary additions round, which adds up: sums of theirs should be short. Parts of less than 1e-38
lose bits: a number keeps an absolute 1e-41 where that is more than its share.

An infinity has no small part, and numbers next to the largest have a large part that is infinite:
both give NaN, as NaN does.
"""

from __future__ import annotations

from hidet.ir.expr import Value
from hidet.lang import (
    Int,
    Registers,
    address,
    cast,
    f32,
    grid,
    part,
    register_tensor,
    reinterpret,
    tf32,
    u32,
    unroll,
)
from hidet.lang.cuda import mma_sync

HALF, KEPT = 0x1000, 0xFFFFE000
"""Half of the last bit that tf32 keeps, and all the bits that it keeps."""


def large_of(value: Value) -> Value:
    """The tf32 next to a float32: two instructions, where a conversion takes four. Some NaN become
    zero."""
    found: Value = reinterpret((reinterpret(value, u32) + HALF) & KEPT, tf32)
    return found


def small_of(value: Value, large: Value) -> Value:
    """What is left of a float32. The units drop what is beyond tf32."""
    found: Value = reinterpret(value - cast(large, f32), tf32)
    return found


@part
def parts_of(count: int, values: int) -> tuple[Registers, Registers, Registers]:
    """Registers for so many fragments of float32, for their large parts and their small ones."""
    whole = register_tensor(f32, (count, values))
    large = register_tensor(tf32, (count, values))
    small = register_tensor(tf32, (count, values))
    return whole, large, small


@part
def divide(whole: Registers, large: Registers, small: Registers, exact: bool) -> None:
    """Fragments of float32 to both parts; unless that is to be `exact`, to the large one alone.
    There a conversion keeps every NaN, which the small part does otherwise."""
    for i, e in unroll(grid(*whole.shape)):
        if exact:
            large[i, e] = large_of(whole[i, e])
            small[i, e] = small_of(whole[i, e], large[i, e])
        else:
            large[i, e] = cast(whole[i, e], tf32)


@part
def add_products(
    large_a: Registers, small_a: Registers, first: Int, large_b: Registers, small_b: Registers,
    high: Registers, low: Registers, at: Int, exact: bool,
) -> None:  # fmt: skip
    """The products of fragments of a, from the `first` on, and those of b are added: the large ones
    to some sums, those that matter beside them to others. What follows a product is of another sum
    and need not wait for it. Unless that is to be `exact`, there are large products alone."""
    rows, columns = high.shape[0], large_b.shape[0]
    if exact:
        for i, j in unroll(grid(rows, columns)):
            left, right = address(small_a, first + i, 0), address(large_b, j, 0)
            mma_sync(left, right, address(low, i, at + j, 0), "m16n8k8")
        for i, j in unroll(grid(rows, columns)):
            left, right = address(large_a, first + i, 0), address(small_b, j, 0)
            mma_sync(left, right, address(low, i, at + j, 0), "m16n8k8")
    for i, j in unroll(grid(rows, columns)):
        left, right = address(large_a, first + i, 0), address(large_b, j, 0)
        mma_sync(left, right, address(high, i, at + j, 0), "m16n8k8")
