"""Split-K of attention: partials of several warps or blocks, over different keys, are merged.

Each part is a sum of weighted rows of v, with the sum of its weights and the score (as a power of
two) that the weights are relative to. Parts lie in shared memory, the block's own or that of its
cluster; where blocks are no cluster, in a workspace that a second kernel reads (flash-decoding, Dao
et al. 2023).
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Float,
    Global,
    Int,
    Registers,
    ScriptFunction,
    Shared,
    address,
    attr,
    cast,
    cdiv,
    f32,
    grid,
    isfinite,
    maximum,
    part,
    register_tensor,
    script,
    select,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, mapa, threadIdx
from hidet.mapping.fragments import ROW_LANES, mma_c
from hidet.schedules.attention import Rows, types_of
from hidet.schedules.cuda.attention.plain import Operands, mend
from hidet.schedules.cuda.attention.softmax import LOW, factor_of, fast_exp2
from hidet.target import WARP
from hidet.types import Size, TensorType

VECTOR = 4
PADDING = 8
"""Elements between rows, so that the rows of a fragment lie in different banks."""
THREADS = 128
YES: Any = True
"""A truth value that becomes an expression."""


def partials_shape(parts: int, rows: int, width: int) -> tuple[int, int, int]:
    """The shape in shared memory of the parts of a block's rows."""
    return parts, rows, width + PADDING


@part
def hand_over(
    rows: Rows, sums: Registers, row_max: Registers, row_sum: Registers,
    partials: Shared, facts: Shared, which: Int, row: Int,
) -> None:  # fmt: skip
    """A warp's partials go to shared memory."""
    factor, lane = factor_of(rows), threadIdx.x % WARP
    for i, half in unroll(grid(sums.shape[0], 2)):
        at = row + i * 16 + half * 8 + mma_c().task(lane, 0)[0]
        for j in unroll(sums.shape[1]):
            for v in vectorize(2):
                total = sums[i, j, half * 2 + v]
                partials[which, at, j * 8 + mma_c().task(lane, 0)[1] + v] = total
        if ROW_LANES.task(lane)[1] == 0:
            facts[which, at, 0] = row_max[i, half] * factor
            facts[which, at, 1] = row_sum[i, half]


@part
def write(of: Operands, sums: Registers, row_sum: Registers, z: Int, row: Int) -> None:
    """Each lane writes what it has summed."""
    rows, (high, across) = of.rows, sums.shape[:2]
    lane, finite = threadIdx.x % WARP, YES
    if of.in_parts:
        for i, half in unroll(grid(high, 2)):
            finite = finite and isfinite(row_sum[i, half])
        for i, j, e in unroll(grid(high, across, 4)):
            finite = finite and isfinite(sums[i, j, e])
    if finite:
        for i, half in unroll(grid(high, 2)):
            total = row_sum[i, half]
            inverse = select(total == 0.0, 0.0, 1.0 / total)
            for j in unroll(across):
                for c in vectorize(2):
                    at = (
                        row + i * 16 + half * 8 + mma_c().task(lane, 0)[0],
                        j * 8 + mma_c().task(lane, 0)[1] + c,
                    )
                    value = cast(sums[i, j, half * 2 + c] * inverse, of.y.dtype)
                    of.y.put(*rows.row_at(z, *at), value)
    else:
        for number in range(high * 2):
            at = (row + number * 8 + mma_c().task(lane, 0)[0], mma_c().task(lane, 0)[1])
            mend(of, (across, 2), 8, z, *at)


@part
def merge(
    partials: Any, facts: Any, blocks: int, row: Int, column: Int, values: Registers
) -> tuple[Float, Float]:
    """`values` become the sums at a row of all parts, in each of `blocks` blocks of a cluster: the
    largest score, and the sum of weights."""
    parts = partials.shape[0]
    top = cast(LOW, f32)
    for block, which in unroll(grid(blocks, parts)):
        own = address(facts, which, row, 0)
        fact = part_of(own, block, blocks)
        top = maximum(top, fact[0])
    shift = select(top == LOW, 0.0, top)
    total = cast(0.0, f32)
    for block, which in unroll(grid(blocks, parts)):
        own, near = address(facts, which, row, 0), address(partials, which, row, column)
        fact = part_of(own, block, blocks)
        found = part_of(near, block, blocks)
        share = fast_exp2(fact[0] - shift)
        total += fact[1] * share
        for v in vectorize(VECTOR):
            values[v] += found[v] * share
    return top, total


def part_of(own: Any, block: Any, blocks: int) -> Any:
    """Where another block of a cluster has what this one has at `own`."""
    return mapa(own, block) if blocks > 1 else own


@part
def finish(
    of: Operands, threads: int, together: int, partials: Shared, facts: Shared,
    z: Int, top: Int, share: Int,
) -> None:  # fmt: skip
    """The result from the parts of a tile.

    Each of `together` blocks of a cluster writes its share. They have to meet before it, and once
    more before the first of them ends.
    """
    block, across = partials.shape[1], (partials.shape[2] - PADDING) // VECTOR
    for step in range(-(-block * across // (threads * together))):
        piece = (step * together + share) * threads + threadIdx.x
        row, column = piece // across, piece % across * VECTOR
        if row < block and top + row < of.rows.count:
            values = register_tensor(f32, (VECTOR,), init=0.0)
            _, total = merge(partials, facts, together, row, column, values)
            give(of, z, top + row, column, total, values)


@part
def give(of: Operands, z: Int, row: Int, column: Int, total: Float, values: Registers) -> None:
    """Elements of a row are written."""
    inverse, finite = select(total == 0.0, 0.0, 1.0 / total), YES
    if of.in_parts:
        finite = isfinite(total)
        for one in unroll(VECTOR):
            finite = finite and isfinite(values[one])
    if finite:
        for one in vectorize(VECTOR):
            at = of.rows.row_at(z, row, column + one)
            of.y.put(*at, cast(values[one] * inverse, of.y.dtype))
    else:
        mend(of, (1, VECTOR), VECTOR, z, row, column)


@part
def store_part(
    threads: int, partials: Shared, facts: Shared, partial: Global, partial_facts: Global,
    share: Int, first: Int,
) -> None:  # fmt: skip
    """The parts of a tile as one part for another kernel, in rows from `first` on."""
    block, across = partials.shape[1], (partials.shape[2] - PADDING) // VECTOR
    for step in range(-(-block * across // threads)):
        piece = step * threads + threadIdx.x
        row, column = piece // across, piece % across * VECTOR
        if row < block:
            values = register_tensor(f32, (VECTOR,), init=0.0)
            best, total = merge(partials, facts, 1, row, column, values)
            for v in vectorize(VECTOR):
                partial[share, first + row, column + v] = values[v]
            if column == 0:
                partial_facts[share, first + row, 0] = best
                partial_facts[share, first + row, 1] = total


def joining(
    name: str, rows: Rows, in_parts: bool, partial_type: TensorType, facts_type: TensorType,
    padded: Size,
) -> ScriptFunction:  # fmt: skip
    """The kernel that merges the partials of several blocks; a stack has `padded` rows."""
    across, op = partial_type.shape[2] // VECTOR, rows.op

    @script(**types_of(op), partial=partial_type, partial_facts=facts_type, y=op.infer())
    def join(
        q: Global, k: Global, v: Global, mask: Global,
        partial: Global, partial_facts: Global, y: Global,
    ) -> None:  # fmt: skip
        attr.func_name = f"{name}_join"
        attr.cuda_grid_dim = (cdiv(rows.count * across, THREADS), 1, rows.stacks)
        attr.cuda_block_dim = THREADS
        number, z = blockIdx.x * THREADS + threadIdx.x, blockIdx.z
        row, column = number // across, number % across * VECTOR
        if row < rows.count:
            values = register_tensor(f32, (VECTOR,), init=0.0)
            _, total = merge(partial, partial_facts, 1, z * padded + row, column, values)
            give(Operands(rows, q, k, v, mask, y, in_parts), z, row, column, total, values)

    return join
