"""How attention ends on tensor cores and CUDA cores: what warps have found becomes the result.

Where warps or blocks divide the keys (split-K), each has partials: accumulators, with the row sum
and the row max that they are relative to. Partials lie in shared memory, the block's own or that of
its cluster; where blocks are no cluster, in a workspace that a second kernel reads (flash-decoding,
Dao et al. 2023).
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Float,
    Global,
    Int,
    Registers,
    ScriptFunction,
    address,
    attr,
    cast,
    cdiv,
    f32,
    grid,
    isfinite,
    maximum,
    part,
    record,
    register_tensor,
    script,
    select,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, mapa, threadIdx
from hidet.mapping.fragments import ROW_LANES
from hidet.schedules.attention import Rows, types_of
from hidet.schedules.cuda.attention.non_finite import Operands, recompute
from hidet.schedules.cuda.attention.softmax import (
    LOW,
    OnlineSoftmax,
    factor_of,
    fast_exp2,
    fragment_column,
    fragment_row,
    inverse_of,
)
from hidet.target import WARP
from hidet.types import Size, TensorType

VECTOR = 4
"""Neighbours of a row that a thread merges at once."""
PADDING = 8
"""Elements between rows, so that the rows of a fragment lie in different banks."""
THREADS = 128
"""Threads of a block of the second kernel."""
TRUE: Any = True
"""A truth value that becomes an expression."""


def partials_shape(parts: int, rows: int, width: int) -> tuple[int, int, int]:
    """The shape in shared memory of the partials of a block's rows."""
    return parts, rows, width + PADDING


@record
class Partials:
    """Accumulators and row statistics of several warps or blocks, over different keys."""

    accumulators: Any
    """float32[parts, rows, columns]."""
    statistics: Any
    """float32[parts, rows, 2]: row max, as an exponent of two, and row sum."""
    blocks: int = 1
    """The blocks of a cluster, each of which has as many parts."""

    @part
    def put(self, softmax: OnlineSoftmax, which: Int, row: Int) -> None:
        """A warp's rows, from `row` on, become a part."""
        factor, sums, lane = factor_of(softmax.rows), softmax.accumulators, threadIdx.x % WARP
        for i, half in unroll(grid(sums.shape[0], 2)):
            at = fragment_row(row, lane, i, half)
            for j in unroll(sums.shape[1]):
                for v in vectorize(2):
                    total = sums[i, j, half * 2 + v]
                    self.accumulators[which, at, fragment_column(0, lane, j) + v] = total
            if ROW_LANES.task(lane)[1] == 0:
                self.statistics[which, at, 0] = softmax.row_max[i, half] * factor
                self.statistics[which, at, 1] = softmax.row_sum[i, half]

    @part
    def merge(self, row: Int, column: Int, values: Registers) -> tuple[Float, Float]:
        """`values` become the accumulators of all parts at a row: its row max and row sum."""
        parts = self.accumulators.shape[0]
        row_max = cast(LOW, f32)
        for block, which in unroll(grid(self.blocks, parts)):
            own = address(self.statistics, which, row, 0)
            part = part_of(own, block, self.blocks)
            row_max = maximum(row_max, part[0])
        finite_max = select(row_max == LOW, 0.0, row_max)
        row_sum = cast(0.0, f32)
        for block, which in unroll(grid(self.blocks, parts)):
            own = address(self.statistics, which, row, 0)
            near = address(self.accumulators, which, row, column)
            part = part_of(own, block, self.blocks)
            found = part_of(near, block, self.blocks)
            rescale = fast_exp2(part[0] - finite_max)
            row_sum += part[1] * rescale
            for v in vectorize(VECTOR):
                values[v] += found[v] * rescale
        return row_max, row_sum

    @part
    def merge_tile(self, threads: int, share: Int, end: Any) -> None:
        """All rows are merged, and written by the record `end`.

        Each block of a cluster merges its share. All have to meet before that, and once more before
        the first of them ends.
        """
        _, rows, columns = self.accumulators.shape
        across, blocks = (columns - PADDING) // VECTOR, self.blocks
        for step in range(-(-rows * across // (threads * blocks))):
            piece = (step * blocks + share) * threads + threadIdx.x
            row, column = piece // across, piece % across * VECTOR
            if row < rows and end.has(row):
                values = register_tensor(f32, (VECTOR,), init=0.0)
                row_max, row_sum = self.merge(row, column, values)
                end.write(row, column, values, row_max, row_sum)


def part_of(own: Any, block: Any, blocks: int) -> Any:
    """Where another block of a cluster has what this one has at `own`."""
    return mapa(own, block) if blocks > 1 else own


@record
class ResultRows:
    """The result's rows from `top` of stack `z` on, where merged rows go."""

    of: Operands
    z: Any
    top: Any

    def has(self, row: Any) -> Any:
        """Whether the result has such a row."""
        return self.top + row < self.of.rows.count

    @part
    def write(
        self, row: Int, column: Int, values: Registers, row_max: Float, row_sum: Float
    ) -> None:
        """Elements of a row are written."""
        at, inverse, finite = self.top + row, inverse_of(row_sum), TRUE
        if self.of.emulated:
            finite = isfinite(row_sum)
            for one in unroll(VECTOR):
                finite = finite and isfinite(values[one])
        if finite:
            for one in vectorize(VECTOR):
                index = self.of.rows.row_at(self.z, at, column + one)
                self.of.y.put(*index, cast(values[one] * inverse, self.of.y.dtype))
        else:
            recompute(self.of, (1, VECTOR), VECTOR, self.z, at, column)


@record
class WorkspaceRows:
    """A block's part of a workspace, in rows from `first` on, where merged rows go."""

    partials: Partials
    share: Any
    first: Any

    def has(self, row: Any) -> Any:
        """The workspace has rows for whole tiles."""
        return True

    @part
    def write(
        self, row: Int, column: Int, values: Registers, row_max: Float, row_sum: Float
    ) -> None:
        """Elements of a row are written, and its statistics once."""
        at = self.first + row
        for v in vectorize(VECTOR):
            self.partials.accumulators[self.share, at, column + v] = values[v]
        if column == 0:
            self.partials.statistics[self.share, at, 0] = row_max
            self.partials.statistics[self.share, at, 1] = row_sum


@part
def write_fragments(of: Operands, softmax: OnlineSoftmax, z: Int, row: Int) -> None:
    """Each lane writes its elements of the warp's rows, which nobody else has a part of."""
    sums, row_sum, finite = softmax.accumulators, softmax.row_sum, TRUE
    lane, (down, across, _) = threadIdx.x % WARP, sums.shape
    if of.emulated:
        for i, half in unroll(grid(down, 2)):
            finite = finite and isfinite(row_sum[i, half])
        for i, j, e in unroll(grid(down, across, 4)):
            finite = finite and isfinite(sums[i, j, e])
    if finite:
        for i, half in unroll(grid(down, 2)):
            inverse = inverse_of(row_sum[i, half])
            for j in unroll(across):
                for c in vectorize(2):
                    at = fragment_row(row, lane, i, half), fragment_column(0, lane, j) + c
                    value = cast(sums[i, j, half * 2 + c] * inverse, of.y.dtype)
                    of.y.put(*of.rows.row_at(z, *at), value)
    else:
        for number in range(down * 2):
            at = fragment_row(row, lane, 0, number), fragment_column(0, lane, 0)
            recompute(of, (across, 2), 8, z, *at)


def combine_kernel(
    name: str, rows: Rows, emulated: bool, partial_type: TensorType, statistics_type: TensorType,
    padded: Size,
) -> ScriptFunction:  # fmt: skip
    """The kernel that merges the partials of several blocks; a stack has `padded` rows there."""
    across, op = partial_type.shape[2] // VECTOR, rows.op

    @script(**types_of(op), partial=partial_type, partial_statistics=statistics_type, y=op.infer())
    def combine(
        q: Global, k: Global, v: Global, mask: Global,
        partial: Global, partial_statistics: Global, y: Global,
    ) -> None:  # fmt: skip
        attr.func_name = f"{name}_combine"
        attr.cuda_grid_dim = (cdiv(rows.count * across, THREADS), 1, rows.stacks)
        attr.cuda_block_dim = THREADS
        number, z = blockIdx.x * THREADS + threadIdx.x, blockIdx.z
        row, column = number // across, number % across * VECTOR
        if row < rows.count:
            values = register_tensor(f32, (VECTOR,), init=0.0)
            partials = Partials(partial, partial_statistics)
            row_max, row_sum = partials.merge(z * padded + row, column, values)
            result = ResultRows(Operands(rows, q, k, v, mask, y, emulated), z, 0)
            result.write(row, column, values, row_max, row_sum)

    return combine
