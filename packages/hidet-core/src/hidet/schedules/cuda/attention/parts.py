"""Split-K of attention: partials of several warps or blocks, over different keys, are merged.

Each part is a sum of weighted rows of v, with the sum of its weights and the score (as a power of
two) that the weights are relative to. Parts lie in shared memory, the block's own or that of its
cluster; where blocks are no cluster, in a workspace that a second kernel reads (flash-decoding, Dao
et al. 2023).
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Global,
    ScriptFunction,
    address,
    attr,
    cast,
    cdiv,
    f32,
    grid,
    isfinite,
    maximum,
    register_tensor,
    script,
    select,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, mapa, threadIdx
from hidet.mapping.fragments import ROW_LANES, mma_c
from hidet.schedules.attention import Rows, types_of
from hidet.schedules.cuda.attention.plain import in_parts, mending
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


def handing(rows: Rows, height: int, width: int) -> ScriptFunction:
    """A part of a kernel: (sums, row_max, row_sum, partials, facts, part, row). A warp's
    partials."""
    factor = factor_of(rows)

    @script
    def hand_over(sums, row_max, row_sum, partials, facts, part, row):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        for i, half in unroll(grid(height // 16, 2)):
            at = row + i * 16 + half * 8 + mma_c().task(lane, 0)[0]
            for j in unroll(width // 8):
                for v in vectorize(2):
                    partials[part, at, j * 8 + mma_c().task(lane, 0)[1] + v] = sums[
                        i, j, half * 2 + v
                    ]
            if ROW_LANES.task(lane)[1] == 0:
                facts[part, at, 0] = row_max[i, half] * factor
                facts[part, at, 1] = row_sum[i, half]

    return hand_over


def writing(rows: Rows, height: int, width: int) -> ScriptFunction:
    """A part of a kernel: (q, k, v, mask, sums, row_sum, y, z, row). Each lane writes what it has
    summed."""
    mend, parts = mending(rows, width // 8, 8, 2), in_parts(rows)

    @script
    def write(q, k, v, mask, sums, row_sum, y, z, row):  # type: ignore[no-untyped-def]
        lane, finite = threadIdx.x % WARP, YES
        if parts:
            for i, half in unroll(grid(height // 16, 2)):
                finite = finite and isfinite(row_sum[i, half])
            for i, j, e in unroll(grid(height // 16, width // 8, 4)):
                finite = finite and isfinite(sums[i, j, e])
        if finite:
            for i, half in unroll(grid(height // 16, 2)):
                total = row_sum[i, half]
                inverse = select(total == 0.0, 0.0, 1.0 / total)
                for j in unroll(width // 8):
                    for c in vectorize(2):
                        at = (
                            row + i * 16 + half * 8 + mma_c().task(lane, 0)[0],
                            j * 8 + mma_c().task(lane, 0)[1] + c,
                        )
                        value = cast(sums[i, j, half * 2 + c] * inverse, y.dtype)
                        y.put(*rows.row_at(z, *at), value)
        else:
            for number in range(height // 8):
                at = (row + number * 8 + mma_c().task(lane, 0)[0], mma_c().task(lane, 0)[1])
                mend(q, k, v, mask, y, z, *at)

    return write


def merging(parts: int, blocks: int) -> ScriptFunction:
    """A part of a kernel: (partials, facts, row, column, values) -> (top, total).

    `values` become the sums at a row of `parts` parts, in each of `blocks` blocks of a cluster.
    """

    @script
    def merge(partials, facts, row, column, values):  # type: ignore[no-untyped-def]
        top = cast(LOW, f32)
        for block, part in unroll(grid(blocks, parts)):
            own = address(facts, part, row, 0)
            fact = part_of(own, block, blocks)
            top = maximum(top, fact[0])
        shift = select(top == LOW, 0.0, top)
        total = cast(0.0, f32)
        for block, part in unroll(grid(blocks, parts)):
            own, near = address(facts, part, row, 0), address(partials, part, row, column)
            fact = part_of(own, block, blocks)
            found = part_of(near, block, blocks)
            share = fast_exp2(fact[0] - shift)
            total += fact[1] * share
            for v in vectorize(VECTOR):
                values[v] += found[v] * share
        return top, total

    return merge


def part_of(own: Any, block: Any, blocks: int) -> Any:
    """Where another block of a cluster has what this one has at `own`."""
    return mapa(own, block) if blocks > 1 else own


def finishing(
    rows: Rows, block: int, width: int, threads: int, parts: int, together: int
) -> ScriptFunction:
    """A part of a kernel: (q, k, v, mask, partials, facts, y, z, top, share). The result from
    the parts of a tile.

    Each of `together` blocks of a cluster writes its share. They have to meet before it, and once
    more before the first of them ends.
    """
    merge, give = merging(parts, together), giving(rows)
    across = width // VECTOR
    pieces = block * across

    @script
    def finish(q, k, v, mask, partials, facts, y, z, top, share):  # type: ignore[no-untyped-def]
        for step in range(-(-pieces // (threads * together))):
            piece = (step * together + share) * threads + threadIdx.x
            row, column = piece // across, piece % across * VECTOR
            if row < block and top + row < rows.count:
                values = register_tensor(f32, (VECTOR,), init=0.0)
                _, total = merge(partials, facts, row, column, values)
                give(q, k, v, mask, y, z, top + row, column, total, values)

    return finish


def giving(rows: Rows) -> ScriptFunction:
    """A part of a kernel: (q, k, v, mask, y, z, row, column, total, values). Writes elements."""
    mend, parts = mending(rows, 1, VECTOR, VECTOR), in_parts(rows)

    @script
    def give(q, k, v, mask, y, z, row, column, total, values):  # type: ignore[no-untyped-def]
        inverse, finite = select(total == 0.0, 0.0, 1.0 / total), YES
        if parts:
            finite = isfinite(total)
            for one in unroll(VECTOR):
                finite = finite and isfinite(values[one])
        if finite:
            for one in vectorize(VECTOR):
                at = rows.row_at(z, row, column + one)
                y.put(*at, cast(values[one] * inverse, y.dtype))
        else:
            mend(q, k, v, mask, y, z, row, column)

    return give


def storing(block: int, width: int, threads: int, parts: int) -> ScriptFunction:
    """A part of a kernel: (partials, facts, partial, partial_facts, share, first).

    The parts of a tile as one part for another kernel, in rows from `first` on.
    """
    merge = merging(parts, 1)
    across = width // VECTOR
    pieces = block * across

    @script
    def store_part(partials, facts, partial, partial_facts, share, first):  # type: ignore[no-untyped-def]
        for step in range(-(-pieces // threads)):
            piece = step * threads + threadIdx.x
            row, column = piece // across, piece % across * VECTOR
            if row < block:
                values = register_tensor(f32, (VECTOR,), init=0.0)
                best, total = merge(partials, facts, row, column, values)
                for v in vectorize(VECTOR):
                    partial[share, first + row, column + v] = values[v]
                if column == 0:
                    partial_facts[share, first + row, 0] = best
                    partial_facts[share, first + row, 1] = total

    return store_part


def joining(
    name: str, rows: Rows, partial_type: TensorType, facts_type: TensorType, padded: Size
) -> ScriptFunction:
    """The kernel that merges the partials of several blocks; a stack has `padded` rows."""
    slices: Any = partial_type.shape[0]
    width = partial_type.shape[2]
    merge, give = merging(slices, 1), giving(rows)
    across, op = width // VECTOR, rows.op

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
            _, total = merge(partial, partial_facts, z * padded + row, column, values)
            give(q, k, v, mask, y, z, row, column, total, values)

    return join
