"""The softmax of attention, row by row as keys come along (Milakov and Gimelshein 2018).

Scores are powers of two here: their factor has log2(e) in it. A thread's sums are over its own
columns until `add_row_sums` adds up those of the four lanes that share a row.
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
    Int,
    Registers,
    cast,
    f32,
    grid,
    maximum,
    part,
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
# What expressions are compared with is of any type: checkers see that floats equal no expression.
LOW: Any = float("-inf")
NOTHING: Any = 0.0
"""The score of a key that is not there, and the sum of no weights."""
LOG2_E = 1 / math.log(2)
fast_exp2 = partial(call, "exp2_approx")


def factor_of(rows: Rows) -> float:
    """What scores are multiplied by when their exponentials are taken: all of it, or nothing."""
    return 1.0 if multiplied_first(rows) else rows.op.scale * LOG2_E


def multiplied_first(rows: Rows) -> bool:
    """Whether scores need their factor before the largest is looked for."""
    return rows.op.mask is not None or rows.op.scale <= 0 or bool(rows.op.steps)


def stepped_score(op: Attention, product: Expr) -> Expr:
    """What a product says ahead of masks, as a power of two."""
    if not op.steps:
        return product * (op.scale * LOG2_E)
    value = stepped(product * op.scale, op.steps)
    # Scores of half precision need a few bits more than that.
    return (call(NEAR[op.q.dtype], value) if op.q.dtype in NEAR else value) * LOG2_E


@part
def mask_scores(
    rows: Rows, scores: Registers, mask: Any, z: Int, row: Int, key: Int, edge: Bool
) -> None:
    """What the scores say after masks.

    `edge`: whether some keys of the tile are not there, or come after a row. `row` and `key` are
    those of the warp's first score.
    """
    op, lane = rows.op, threadIdx.x % WARP
    kept = op.mask is not None and op.mask.dtype.is_bool
    if multiplied_first(rows):
        for i, half in unroll(grid(scores.shape[0], 2)):
            at = row + i * 16 + half * 8 + mma_c().task(lane, 0)[0]
            for j in unroll(scores.shape[1]):
                for v in vectorize(2):
                    value = stepped_score(op, scores[i, j, half * 2 + v])
                    if op.mask is not None:
                        column = key + j * 8 + mma_c().task(lane, 0)[1] + v
                        entry = get(mask, *rows.mask_at(z, at, column))
                        if kept:
                            value = select(entry, value, LOW)
                        else:
                            value += cast(entry, f32) * LOG2_E
                    scores[i, j, half * 2 + v] = value
    if edge:
        for i, half in unroll(grid(scores.shape[0], 2)):
            last = rows.keys - 1
            if op.causal:
                number = rows.number(row + i * 16 + half * 8 + mma_c().task(lane, 0)[0])
                last = select(number < last, number, last)
            for j, v in unroll(grid(scores.shape[1], 2)):
                column = key + j * 8 + mma_c().task(lane, 0)[1] + v
                old = scores[i, j, half * 2 + v]
                scores[i, j, half * 2 + v] = select(column <= last, old, LOW)


@part
def online_softmax(
    rows: Rows, scores: Registers, row_max: Registers, row_sum: Registers, sums: Registers
) -> None:
    """Scores become weights. What was summed with a smaller row max is rescaled as the row max
    grows."""
    rescale = register_tensor(f32, row_max.shape)
    weigh_scores(rows, scores, row_max, row_sum, rescale)
    rescale_sums(sums, rescale)


@part
def weigh_scores(
    rows: Rows, scores: Registers, row_max: Registers, row_sum: Registers, rescale: Registers
) -> None:
    """Scores become weights. `rescale`: what is left of rows that were summed before."""
    factor = factor_of(rows)
    for i, half in unroll(grid(scores.shape[0], 2)):
        top = row_max[i, half]
        for j, v in unroll(grid(scores.shape[1], 2)):
            top = maximum(top, scores[i, j, half * 2 + v])
        top = maximum(top, shfl_xor_sync(ALL, top, 1))
        top = maximum(top, shfl_xor_sync(ALL, top, 2))
        there = select(top == LOW, 0.0, top)
        shift = there * factor
        # The difference comes first: where the row max stays nothing is rescaled.
        scale = fast_exp2((row_max[i, half] - there) * factor)
        row_max[i, half] = top
        total = row_sum[i, half] * scale
        for j, v in unroll(grid(scores.shape[1], 2)):
            weight = fast_exp2(scores[i, j, half * 2 + v] * factor - shift)
            scores[i, j, half * 2 + v] = weight
            total += weight
        row_sum[i, half] = total
        rescale[i, half] = scale


@part
def rescale_sums(sums: Registers, rescale: Registers) -> None:
    """Sums are rescaled to the new row max."""
    for i, half in unroll(grid(sums.shape[0], 2)):
        for j, v in unroll(grid(sums.shape[1], 2)):
            sums[i, j, half * 2 + v] *= rescale[i, half]


@part
def add_row_sums(row_sum: Registers) -> None:
    """The row sums, of all lanes."""
    for i, half in unroll(grid(row_sum.shape[0], 2)):
        total = row_sum[i, half]
        total += shfl_xor_sync(ALL, total, 1)
        total += shfl_xor_sync(ALL, total, 2)
        row_sum[i, half] = total
