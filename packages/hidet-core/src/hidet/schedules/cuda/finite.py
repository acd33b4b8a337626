"""Sums that come out as no numbers are added up again, in the plain way.

Products of parts have no infinities: where an operand or a product has one, they give NaN.
"""

from __future__ import annotations

from hidet.lang import ScriptFunction, grid, isfinite, script, unroll
from hidet.lang.cuda import syncthreads_or


def unless_finite(
    fast: ScriptFunction, plain: ScriptFunction, sums: tuple[int, ...]
) -> ScriptFunction:
    """A part of a kernel: `fast`, and where a block's sums are not all finite, `plain` from the
    beginning. Both take (a, b, tiles_a, tiles_b, sums, z, top, left, first, turns), and leave the
    tiles alone once all threads have passed their last barrier.
    """

    @script
    def add(a, b, tiles_a, tiles_b, found, z, top, left, first, turns):  # type: ignore[no-untyped-def]
        fast(a, b, tiles_a, tiles_b, found, z, top, left, first, turns)
        lost = False
        for at in unroll(grid(*sums)):
            lost = lost or not isfinite(found[*at])
        if syncthreads_or(lost):
            for at in unroll(grid(*sums)):
                found[*at] = 0.0
            plain(a, b, tiles_a, tiles_b, found, z, top, left, first, turns)

    return add
