"""Positions within sorted values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np

from hidet.compute import Grid, grid, minimum, select
from hidet.compute.sizes import numbers, same_shape
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, wrap
from hidet.ops.elementwise.compare import greater, greater_equal
from hidet.ops.elementwise.unary import logical_not
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.shape import reshape
from hidet.types import TensorType, boolean, f16, f32, i32, i64, promote, u8

COMPARED = 256
"""Elements up to which each is compared with a value: of more, a step for each bit is faster."""


def searchsorted(ordered: Tensor, values: Tensor, *, right: bool = False) -> Tensor:
    """The index (i64) at which each value would be inserted into the ascending last axis of
    `ordered`.

    `ordered` has one axis, or all axes of `values` but the last. Equal elements come after the
    value, before it with `right`; NaN belongs at the end.
    """
    size = ordered.shape[-1]
    if isinstance(size, int) and size > COMPARED:
        return apply(SearchSorted, ordered, values, right=right)
    if ordered.ndim == 1:
        edges = reshape(ordered, ((1,) * values.ndim) + ordered.shape)
    else:
        edges = reshape(ordered, (*ordered.shape[:-1], 1, ordered.shape[-1]))
    follows = (greater if right else greater_equal)(edges, reshape(values, (*values.shape, 1)))
    return total(cast(logical_not(follows), i64), -1)


@operator("searchsorted")
class SearchSorted(Op):
    """How many elements of a sorted axis come before each value, by steps of half the length each.

    It is one operator, since each step reads where the step before it ended: cut in two, the first
    kernel writes what the second one reads again for each value.
    """

    ordered: TensorType
    values: TensorType
    right: bool

    def infer(self) -> TensorType:
        rows = self.ordered.shape[:-1]
        if rows and not same_shape(rows, self.values.shape[:-1]):
            raise ShapeMismatch(
                f"rows of {self.ordered} are sorted apart, and {self.values} has others"
            )
        return i64[self.values.shape]

    def define(self, ordered: Grid, values: Grid) -> Grid:
        (size,) = numbers(ordered.shape[-1:])
        common = promote(ordered.dtype, values.dtype)

        def place(*where: Expr) -> Expr:
            value = values[where].cast(common)
            rows = where[: ordered.ndim - 1]
            found = wrap(0)
            for power in reversed(range(size.bit_length())):
                last = found + ((1 << power) - 1)
                edge = ordered[(*rows, minimum(last, size - 1))].cast(common)
                follows = edge > value if self.right else edge >= value
                found = select((last < size) & ~follows, last + 1, found)
            return found.cast(i64)

        return grid(values.shape, place)

    def reference(self, ordered: Any, values: Any) -> Any:
        side: Literal["left", "right"] = "right" if self.right else "left"
        if ordered.ndim == 1:
            return np.searchsorted(ordered, values, side)
        rows = zip(
            ordered.reshape(-1, ordered.shape[-1]),
            values.reshape(-1, values.shape[-1]),
            strict=True,
        )
        return np.array([np.searchsorted(*row, side) for row in rows]).reshape(values.shape)

    def examples(self, seed: int) -> list[Any]:
        ordered, values = super().examples(seed)
        return [np.sort(ordered, -1), values]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[19], f32[3, 7], False)
        yield cls(f16[2, 33], f16[2, 5], True)
        yield cls(i64[40], i32[9], True)
        yield cls(u8[1], u8[12], False)
        yield cls(boolean[6], boolean[3], False)
        yield cls(f32[0], f32[4], False)
