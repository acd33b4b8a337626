"""Sums that come out as no numbers are added up again, in the plain way.

Products of parts have no infinities: where an operand or a product has one, they give NaN.
"""

from __future__ import annotations

from hidet.lang import Bool, Registers, grid, isfinite, part, unroll


@part
def is_lost(sums: Registers) -> Bool:
    """Whether a thread's sums are not all finite."""
    lost = False
    for at in unroll(grid(*sums.shape)):
        lost = lost or not isfinite(sums[*at])
    return lost


@part
def clear(sums: Registers) -> None:
    """A thread's sums are zeros again."""
    for at in unroll(grid(*sums.shape)):
        sums[*at] = 0.0
