"""Rows of attention in float32 whose results are no numbers, once more in the plain way.

Products of parts (`two_parts.py`) have no infinities: one in k makes NaN of every score of its key,
where minus infinity leaves a row finite. Each thread sums the elements that it writes, by itself:
that takes long, and is beside the way of all others.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    ScriptFunction,
    cast,
    f32,
    grid,
    maximum,
    minimum,
    register_tensor,
    script,
    select,
    unroll,
    vectorize,
)
from hidet.lang.memory import get
from hidet.schedules.attention import Rows
from hidet.schedules.cuda.attention.single import products
from hidet.schedules.cuda.attention.softmax import LOG2_E, LOW, NOTHING, fast_exp2, stepped_score


def in_parts(rows: Rows) -> bool:
    """Whether products are of parts."""
    return rows.single and products() > 1


def scoring_plainly(rows: Rows) -> ScriptFunction:
    """A part of a kernel: (q, k, mask, z, row, key) -> what a score says after masks, as a power of
    two."""
    op = rows.op
    size: Any = rows.size

    @script
    def score(q, k, mask, z, row, key):  # type: ignore[no-untyped-def]
        found = cast(0.0, f32)
        for r in range(size):
            left, right = get(q, *rows.row_at(z, row, r)), get(k, *rows.key_at(z, key, r))
            found += cast(left, f32) * cast(right, f32)
        found = stepped_score(op, found)
        if op.mask is not None:
            entry = get(mask, *rows.mask_at(z, row, key))
            if op.mask.dtype.is_bool:
                found = select(entry, found, LOW)
            else:
                found += cast(entry, f32) * LOG2_E
        return found

    return score


def mending(rows: Rows, runs: int, apart: int, together: int) -> ScriptFunction:
    """A part of a kernel: (q, k, v, mask, y, z, row, column). Writes elements of a row of the
    result: `together` neighbours in each of `runs`, which begin `apart` from each other."""
    score = scoring_plainly(rows)
    keys: Any = rows.keys

    @script
    def mend(q, k, v, mask, y, z, row, column):  # type: ignore[no-untyped-def]
        values = register_tensor(f32, (runs, together), init=0.0)
        top, total = cast(LOW, f32), cast(0.0, f32)
        seen = keys
        if rows.op.causal:
            seen = minimum(seen, rows.number(row) + 1)
        for key in range(seen):
            found = score(q, k, mask, z, row, key)
            highest = maximum(top, found)
            there = select(highest == LOW, 0.0, highest)
            scale, weight = fast_exp2(top - there), fast_exp2(found - there)
            top, total = highest, total * scale + weight
            for run, one in unroll(grid(runs, together)):
                factor = get(v, *rows.key_at(z, key, column + run * apart + one))
                values[run, one] = values[run, one] * scale + weight * cast(factor, f32)
        inverse = select(total == NOTHING, 0.0, 1.0 / total)
        for run in unroll(runs):
            for one in vectorize(together):
                at = rows.row_at(z, row, column + run * apart + one)
                y.put(*at, cast(values[run, one] * inverse, y.dtype))

    return mend
