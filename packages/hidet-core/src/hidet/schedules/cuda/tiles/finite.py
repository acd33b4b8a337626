"""Accumulators of 3xTF32 that are not finite are computed again on CUDA cores.

The parts of an infinity give NaN, so an operand or a product that is infinite has no parts.
"""

from __future__ import annotations

from hidet.lang import Bool, Registers, grid, isfinite, part, unroll


@part
def is_not_finite(accumulators: Registers) -> Bool:
    """Whether a thread's accumulators are not all finite."""
    lost = False
    for at in unroll(grid(*accumulators.shape)):
        lost = lost or not isfinite(accumulators[*at])
    return lost


@part
def clear(accumulators: Registers) -> None:
    """A thread's accumulators are zeros again."""
    for at in unroll(grid(*accumulators.shape)):
        accumulators[*at] = 0.0
