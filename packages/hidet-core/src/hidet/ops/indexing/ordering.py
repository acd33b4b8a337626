"""Sorting: elements in order, the largest few.

An element's place is the number of those that come before it. That takes n * n comparisons for n
elements, all independent of each other. On CPUs long rows are sorted digit by digit instead
(`schedules/cpu/sort.py`); on GPUs it is right for the choices that networks make, not for millions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, reduce, select
from hidet.compute import functions as f
from hidet.compute.sizes import numbers
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply_all, operator
from hidet.graph.dims import axis_of
from hidet.ir.expr import Expr
from hidet.ops.tensors.shape import reshape
from hidet.types import Size, TensorType, boolean, f16, f32, i32, i64, u8


def sort(x: Tensor, axis: int = -1, *, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements along `axis` in ascending order, or `descending`, and the indices that they had
    (i64). The sort is stable.

    NaN is greater than all numbers.
    """
    return topk(x, x.shape[axis] if x.ndim else 1, axis, largest=descending)


def argsort(x: Tensor, axis: int = -1, *, descending: bool = False) -> Tensor:
    """The indices (i64) that sort the elements along `axis`; the sort is stable."""
    return sort(x, axis, descending=descending)[1]


def topk(x: Tensor, k: Size, axis: int = -1, *, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) elements along `axis` in order, and their indices (i64)."""
    where = axis_of(axis, x.ndim)
    found = apply_all(
        Sort, reshape(x, (1,)) if not x.ndim else x, axis=where, count=k, descending=largest
    )
    values, index = found
    return (values, index) if x.ndim else (reshape(values, ()), reshape(index, ()))


@operator("sort")
class Sort(Op):
    """The first `count` elements along `axis` in order, and where they were."""

    x: TensorType
    axis: int
    count: Size
    descending: bool

    def infer(self) -> tuple[TensorType, TensorType]:
        size = self.x.shape[self.axis]
        if isinstance(size, int) and isinstance(self.count, int) and self.count > size:
            raise ShapeMismatch(f"the first {self.count} of {size} elements")
        shape = (*self.x.shape[: self.axis], self.count, *self.x.shape[self.axis + 1 :])
        return self.x.dtype[shape], i64[shape]

    def define(self, x: Grid) -> tuple[Grid, Grid]:
        axis, size = self.axis, x.shape[self.axis]

        def swapped(where: tuple[Expr, ...], place: Expr) -> tuple[Expr, ...]:
            return (*where[:axis], place, *where[axis + 1 :])

        def earlier(*where: Expr) -> Expr:
            own = x[where]

            def before(j: Expr) -> Expr:
                other = x[swapped(where, j)]
                first = self.precedes(other, own)
                tied = ~first & ~self.precedes(own, other) & (j < where[axis])
                return (first | tied).cast(i32)

            return reduce(size, before, "sum")

        rank = grid(x.shape, earlier, "rank")

        def origin(*where: Expr) -> Expr:
            def found(i: Expr) -> Expr:
                here = rank[swapped(where, i)].eq(where[axis])
                return select(here, i, i * 0)

            return reduce(size, found, "sum")

        values, _ = self.infer()
        place = grid(values.shape, origin, "place")
        taken = grid(values.shape, lambda *where: x[swapped(where, place[where])])
        return taken, place.cast(i64)

    def precedes(self, a: Expr, b: Expr) -> Expr:
        """Whether a comes before b: NaN after all numbers, before them if descending."""
        small, large = (b, a) if self.descending else (a, b)
        less = small < large if not small.dtype.is_bool else ~small & large
        return less | (~f.isnan(small) & f.isnan(large)) if small.dtype.is_float else less

    def reference(self, x: Any) -> Any:
        # A stable order of descending size is an ascending one of the reversed, reversed again.
        flipped = np.flip(x, self.axis) if self.descending else x
        order = np.argsort(flipped, self.axis, kind="stable")
        if self.descending:
            order = x.shape[self.axis] - 1 - np.flip(order, self.axis)
        index = np.take(order, np.arange(*numbers((self.count,))), self.axis)
        return np.take_along_axis(x, index, self.axis), index

    def examples(self, seed: int) -> list[Any]:
        (x,) = super().examples(seed)
        if self.x.dtype.is_float and x.size > 8:
            x.flat[3], x.flat[5], x.flat[7] = np.nan, x.flat[4], np.nan
        return [x]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[3, 17], 1, 17, False)
        yield cls(f16[9, 4], 0, 9, True)
        yield cls(f32[2, 33, 3], 1, 5, True)
        yield cls(i64[40], 0, 7, False)
        yield cls(u8[2, 12], 1, 12, True)
        yield cls(boolean[2, 9], 1, 9, False)
        yield cls(f32[3, 0], 1, 0, False)
