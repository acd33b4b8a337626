"""The online softmax of attention, row by row as tiles of keys come (Milakov and Gimelshein 2018).

Scores are exponents of two: their factor includes log2(e). A thread's row sum is over its own
columns until `reduce_row_sum` adds those of the four lanes that share a row.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from hidet.compute.steps import stepped
from hidet.ir.expr import Expr
from hidet.ir.functions import NEAR, call
from hidet.lang import (
    Bool,
    Float,
    Int,
    Registers,
    cast,
    f32,
    grid,
    maximum,
    minimum,
    part,
    record,
    register_tensor,
    select,
    unroll,
    vectorize,
)
from hidet.lang.cuda import shfl_xor_sync, threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.ops.products.attention import Attention
from hidet.schedules.attention import Rows
from hidet.target import WARP

ALL = 0xFFFFFFFF
"""All lanes of a warp."""
# What expressions are compared with is of any type: checkers see that floats equal no expression.
LOW: Any = float("-inf")
"""The score of a key that is masked."""
ZERO: Any = 0.0
"""The row sum of a row that sees no key."""
LOG2_E = 1 / math.log(2)
fast_exp2 = partial(call, "exp2_approx")


def factor_of(rows: Rows) -> float:
    """What scores are multiplied by as their exponentials are taken; 1 if that was done before."""
    return 1.0 if is_scaled_first(rows) else rows.op.scale * LOG2_E


def is_scaled_first(rows: Rows) -> bool:
    """Whether scores are scaled before their row max is taken."""
    return rows.op.mask is not None or rows.op.scale <= 0 or bool(rows.op.steps)


def scaled_score(op: Attention, product: Expr) -> Expr:
    """The score of a product of q and k before masks, as an exponent of two."""
    if not op.steps:
        return product * (op.scale * LOG2_E)
    value = stepped(product * op.scale, op.steps)
    # Scores of half precision need a few bits more than that.
    return (call(NEAR[op.q.dtype], value) if op.q.dtype in NEAR else value) * LOG2_E


@part
def inverse_of(row_sum: Float) -> Float:
    """What a row's accumulators are multiplied by in the end: 0 where the row sees no key."""
    return select(row_sum == ZERO, 0.0, 1.0 / row_sum)


def fragment_row(first: Any, lane: Any, i: Any, half: Any) -> Any:
    """The row of a lane's elements of fragment `i`, in one of its halves."""
    return first + i * 16 + half * 8 + mma_c().task(lane, 0)[0]


def fragment_column(first: Any, lane: Any, j: Any) -> Any:
    """The column of a lane's first element of fragment `j`."""
    return first + j * 8 + mma_c().task(lane, 0)[1]


@record
class OnlineSoftmax:
    """A warp's rows of the result so far, in fragments of `mma_c`: 16 rows by 8 columns each."""

    rows: Rows
    mask: Any
    accumulators: Registers
    """Weighted sums of rows of v: float32[fragments down, fragments across, 4]."""
    row_max: Registers
    """The largest score of each row: float32[fragments down, 2]."""
    row_sum: Registers
    """The sum of each row's weights, which are relative to its row max."""

    @part
    def apply_mask(self, scores: Registers, z: Int, row: Int, key: Int, end: Int) -> None:
        """Scores are scaled and masked. `row` and `key` are those of the warp's first score; `end`
        is the first key behind the block's tile of keys."""
        rows = self.rows
        seen = rows.keys
        if rows.op.causal:
            seen = minimum(seen, 1 if rows.together else row + 1)
        self.mask_tile(scores, z, row, key, end > seen)

    @part
    def mask_tile(self, scores: Registers, z: Int, row: Int, key: Int, edge: Bool) -> None:
        """The same; `edge`: whether the tile has keys that some of the rows do not see."""
        if is_scaled_first(self.rows):
            self.scale(scores, z, row, key)
        if edge:
            self.hide(scores, row, key)

    @part
    def scale(self, scores: Registers, z: Int, row: Int, key: Int) -> None:
        """Scores are scaled, and get the mask that is an operand."""
        op, lane = self.rows.op, threadIdx.x % WARP
        for i, half in unroll(grid(scores.shape[0], 2)):
            at = fragment_row(row, lane, i, half)
            for j in unroll(scores.shape[1]):
                for v in vectorize(2):
                    value = scaled_score(op, scores[i, j, half * 2 + v])
                    if op.mask is not None:
                        column = fragment_column(key, lane, j) + v
                        value = masked(op, value, get(self.mask, *self.rows.mask_at(z, at, column)))
                    scores[i, j, half * 2 + v] = value

    @part
    def hide(self, scores: Registers, row: Int, key: Int) -> None:
        """Scores of keys behind the last one, or of those that come after a row, are left out."""
        rows, lane = self.rows, threadIdx.x % WARP
        for i, half in unroll(grid(scores.shape[0], 2)):
            last = rows.keys - 1
            if rows.op.causal:
                number = rows.number(fragment_row(row, lane, i, half))
                last = select(number < last, number, last)
            for j, v in unroll(grid(scores.shape[1], 2)):
                column = fragment_column(key, lane, j) + v
                old = scores[i, j, half * 2 + v]
                scores[i, j, half * 2 + v] = select(column <= last, old, LOW)

    @part
    def weigh(self, scores: Registers, rescale: Registers) -> None:
        """Scores become weights, and count for row max and row sum. `rescale` becomes the factor
        by which accumulators are relative to the new row max."""
        factor = factor_of(self.rows)
        for i, half in unroll(grid(scores.shape[0], 2)):
            row_max = self.row_max[i, half]
            for j, v in unroll(grid(scores.shape[1], 2)):
                row_max = maximum(row_max, scores[i, j, half * 2 + v])
            row_max = maximum(row_max, shfl_xor_sync(ALL, row_max, 1))
            row_max = maximum(row_max, shfl_xor_sync(ALL, row_max, 2))
            finite_max = select(row_max == LOW, 0.0, row_max)
            shift = finite_max * factor
            # The difference comes first: where the row max stays nothing is rescaled.
            scale = fast_exp2((self.row_max[i, half] - finite_max) * factor)
            self.row_max[i, half] = row_max
            row_sum = self.row_sum[i, half] * scale
            for j, v in unroll(grid(scores.shape[1], 2)):
                weight = fast_exp2(scores[i, j, half * 2 + v] * factor - shift)
                scores[i, j, half * 2 + v] = weight
                row_sum += weight
            self.row_sum[i, half] = row_sum
            rescale[i, half] = scale

    @part
    def rescale_accumulators(self, rescale: Registers) -> None:
        """Accumulators become relative to the new row max."""
        sums = self.accumulators
        for i, half in unroll(grid(sums.shape[0], 2)):
            for j, v in unroll(grid(sums.shape[1], 2)):
                sums[i, j, half * 2 + v] *= rescale[i, half]

    @part
    def reduce_row_sum(self) -> None:
        """Each row sum becomes that of all four lanes of its row."""
        for i, half in unroll(grid(self.row_sum.shape[0], 2)):
            total = self.row_sum[i, half]
            total += shfl_xor_sync(ALL, total, 1)
            total += shfl_xor_sync(ALL, total, 2)
            self.row_sum[i, half] = total


def masked(op: Attention, score: Expr, entry: Any) -> Any:
    """A score with its entry of the mask."""
    if op.mask is not None and op.mask.dtype.is_bool:
        return select(entry, score, LOW)
    return score + cast(entry, f32) * LOG2_E


@part
def softmax_of(rows: Rows, mask: Any, down: int, across: int) -> OnlineSoftmax:
    """The softmax of so many fragments of rows by fragments of columns of v, before any key."""
    row_max = register_tensor(f32, (down, 2), init=LOW)
    row_sum = register_tensor(f32, (down, 2), init=0.0)
    accumulators = register_tensor(f32, (down, across, 4), init=0.0)
    return OnlineSoftmax(rows, mask, accumulators, row_max, row_sum)
