"""Rows of attention in float32 whose results are no numbers, once more in the plain way.

Products of parts (`two_parts.py`) have no infinities: one in k makes NaN of every score of its key,
where minus infinity leaves a row finite. Each thread sums the elements that it writes, by itself:
that takes long, and is beside the way of all others.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Float,
    Global,
    Int,
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
from hidet.lang.memory import get
from hidet.schedules.attention import Rows
from hidet.schedules.cuda.attention.softmax import LOG2_E, LOW, NOTHING, fast_exp2, stepped_score


@record
class Operands:
    """What attention reads, and its result."""

    rows: Rows
    q: Global
    k: Global
    v: Global
    mask: Any
    y: Global
    in_parts: bool
    """Whether products are of parts, so that results that are no numbers are summed once more."""

    @property
    def keys(self) -> Any:
        """How many keys there are."""
        return self.rows.keys

    @property
    def size(self) -> Any:
        """Elements of a row of q."""
        return self.rows.size


@part
def score_plainly(of: Operands, z: Int, row: Int, key: Int) -> Float:
    """What a score says after masks, as a power of two."""
    rows, op = of.rows, of.rows.op
    found = cast(0.0, f32)
    for r in range(of.size):
        left, right = get(of.q, *rows.row_at(z, row, r)), get(of.k, *rows.key_at(z, key, r))
        found += cast(left, f32) * cast(right, f32)
    found = stepped_score(op, found)
    if op.mask is not None:
        entry = get(of.mask, *rows.mask_at(z, row, key))
        if op.mask.dtype.is_bool:
            found = select(entry, found, LOW)
        else:
            found += cast(entry, f32) * LOG2_E
    return found


@part
def mend(of: Operands, shape: tuple[int, int], apart: int, z: Int, row: Int, column: Int) -> None:
    """Elements of a row of the result are written: runs of neighbours, of that shape, which begin
    `apart` from each other."""
    rows, (runs, together) = of.rows, shape
    values = register_tensor(f32, shape, init=0.0)
    top, total = cast(LOW, f32), cast(0.0, f32)
    seen = of.keys
    if rows.op.causal:
        seen = minimum(seen, rows.number(row) + 1)
    for key in range(seen):
        found = score_plainly(of, z, row, key)
        highest = maximum(top, found)
        there = select(highest == LOW, 0.0, highest)
        scale, weight = fast_exp2(top - there), fast_exp2(found - there)
        top, total = highest, total * scale + weight
        for run, one in unroll(grid(runs, together)):
            factor = get(of.v, *rows.key_at(z, key, column + run * apart + one))
            values[run, one] = values[run, one] * scale + weight * cast(factor, f32)
    inverse = select(total == NOTHING, 0.0, 1.0 / total)
    for run in unroll(runs):
        for one in vectorize(together):
            at = rows.row_at(z, row, column + run * apart + one)
            of.y.put(*at, cast(values[run, one] * inverse, of.y.dtype))
