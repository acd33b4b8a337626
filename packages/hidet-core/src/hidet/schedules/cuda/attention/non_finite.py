"""Elements of float32 attention whose results are not finite, computed once more in float32.

Products of parts (`two_parts.py`) have no infinities: one in k makes NaN of every score of its key,
where minus infinity leaves a row finite. Each thread computes the elements that it writes, alone:
that takes long, and happens to no others.
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
from hidet.schedules.cuda.attention.softmax import LOW, fast_exp2, inverse_of, masked, scaled_score


@record
class Operands:
    """What attention reads, and its result."""

    rows: Rows
    q: Global
    k: Global
    v: Global
    mask: Any
    y: Global
    emulated: bool
    """Whether products are by 3xTF32, so that what is not finite has to be computed once more."""

    @property
    def keys(self) -> Any:
        """How many keys there are."""
        return self.rows.keys

    @property
    def size(self) -> Any:
        """Elements of a row of q."""
        return self.rows.size


@part
def exact_score(of: Operands, z: Int, row: Int, key: Int) -> Float:
    """A score after masks, as an exponent of two."""
    rows, op = of.rows, of.rows.op
    found = cast(0.0, f32)
    for r in range(of.size):
        left, right = get(of.q, *rows.row_at(z, row, r)), get(of.k, *rows.key_at(z, key, r))
        found += cast(left, f32) * cast(right, f32)
    found = scaled_score(op, found)
    if op.mask is not None:
        found = masked(op, found, get(of.mask, *rows.mask_at(z, row, key)))
    return found


@part
def recompute(
    of: Operands, shape: tuple[int, int], stride: int, z: Int, row: Int, column: Int
) -> None:
    """Elements of a row of the result are computed and written: `shape` is so many runs of so many
    neighbours, which begin `stride` columns from each other."""
    rows, (runs, neighbours) = of.rows, shape
    values = register_tensor(f32, shape, init=0.0)
    row_max, row_sum = cast(LOW, f32), cast(0.0, f32)
    seen = of.keys
    if rows.op.causal:
        seen = minimum(seen, rows.number(row) + 1)
    for key in range(seen):
        score = exact_score(of, z, row, key)
        highest = maximum(row_max, score)
        finite_max = select(highest == LOW, 0.0, highest)
        rescale, weight = fast_exp2(row_max - finite_max), fast_exp2(score - finite_max)
        row_max, row_sum = highest, row_sum * rescale + weight
        for run, one in unroll(grid(runs, neighbours)):
            element = get(of.v, *rows.key_at(z, key, column + run * stride + one))
            values[run, one] = values[run, one] * rescale + weight * cast(element, f32)
    inverse = inverse_of(row_sum)
    for run in unroll(runs):
        for one in vectorize(neighbours):
            at = rows.row_at(z, row, column + run * stride + one)
            of.y.put(*at, cast(values[run, one] * inverse, of.y.dtype))
