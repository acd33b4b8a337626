"""The epilogue of a contraction: accumulators become elements of the result.

A thread writes neighbours of a row in a loop of vector lanes. Fusion replaces `put` by what another
operator computes of the result.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import Global, Int, cast, part, record
from hidet.lang.memory import get
from hidet.schedules.contraction import Contraction


@record
class Epilogue:
    """The result of a contraction, and the bias that its accumulators lack."""

    p: Contraction
    bias: Global
    c: Global
    left: Any = 0
    """From where on columns are counted."""

    @part
    def write(self, value: Any, z: Any, i: Int, j: Int, v: Int) -> None:
        """Write the element at row i and column j + v of product z; what lies outside is dropped.

        The lane `v` is an argument of its own, so that compilers see neighbours as such.
        """
        if self.p.bias is not None:
            value += cast(get(self.bias, *self.p.bias_at(z, i, self.left + j + v)), value.dtype)
        if self.p.is_there(i, self.left + j + v):
            self.c.put(*self.p.c_at(z, i, self.left + j + v), cast(value, self.c.dtype))


@record
class Partial:
    """Split-K partials of one block, in memory that others read."""

    parts: Any
    """By split, product, row and column, in global or in shared memory."""
    split: Int

    @part
    def write(self, value: Any, z: Any, i: Int, j: Int, v: Int) -> None:
        """Write the partial result at row i and column j + v of product z."""
        self.parts[self.split, z, i, j + v] = value
