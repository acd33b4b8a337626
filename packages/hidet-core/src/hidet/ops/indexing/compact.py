"""The indices of elements that are not zero. The size of the result depends on the data.

They are counted first; once the count was read, a second plan writes the place of each where its
number says, which is a running sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, scan, select
from hidet.compute import scatter as scattered
from hidet.compute.sizes import numbers, product, spelled
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, convert, wrap
from hidet.ops.elementwise.binary import floor_divide, remainder
from hidet.ops.elementwise.compare import not_equal
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import zeros
from hidet.ops.tensors.joining import stack
from hidet.ops.tensors.shape import reshape
from hidet.ops.tensors.size_from import size_from
from hidet.types import Size, TensorType, boolean, i32, i64


def nonzero(x: Tensor) -> Tensor:
    """The index of each element that is not zero, in row-major order: i64[count, axes of x].

    Each call counts them first, and reads the count.
    """
    columns = nonzero_columns(x)
    if columns:
        return stack(columns, 1)
    return zeros((flat_nonzero(x).shape[0], 0), i64, device=x.device)


def nonzero_columns(x: Tensor) -> list[Tensor]:
    """The same by axes: for each of them an i64[count]."""
    flat = flat_nonzero(x)
    found = []
    for axis, size in enumerate(x.shape):
        stride = product(x.shape[axis + 1 :])
        # Nothing comes out of an empty tensor, whatever it is divided by.
        whole = floor_divide(flat, 1 if stride == 0 else stride)
        number = remainder(whole, 1 if size == 0 else size) if axis else whole
        found.append(cast(number, i64))
    return found


def flat_nonzero(x: Tensor) -> Tensor:
    """The places of the elements that are not zero, counted in row-major order: i32[count]."""
    mask = reshape(x if x.dtype.is_bool else not_equal(x, 0), (x.size,))
    most = x.size if isinstance(x.size, int) else None
    count = size_from(total(cast(mask, i32), dtype=i32), "nonzero", 0, most)
    return apply(Compact, mask, count=count)


@operator("compact")
class Compact(Op):
    """The places where a mask holds, in order; `count` is how often it holds."""

    mask: TensorType
    count: Size

    def infer(self) -> TensorType:
        if self.mask.dtype is not boolean:
            raise DtypeMismatch(f"compact takes a mask, not {self.mask}")
        if self.mask.ndim != 1:
            raise ShapeMismatch(f"a mask of one axis, not of {spelled(self.mask.shape)}")
        return i32[(self.count,)]

    def define(self, mask: Grid) -> Grid:
        end = convert(wrap(self.count), i32)
        ranks = scan(mask.cast(i32), 0, "sum")

        def place(at: Expr) -> tuple[Expr]:
            return (select(mask[at], ranks[at] - 1, end),)  # none is behind the end

        nothing = grid((self.count,), lambda at: wrap(0).cast(i32))
        return scattered(nothing, mask.shape, place, lambda at: at, "set_one")

    def reference(self, mask: Any) -> Any:
        return np.flatnonzero(mask)

    def examples(self, seed: int) -> list[Any]:
        size, count = numbers((*self.mask.shape, self.count))
        mask = np.zeros(size, bool)
        mask[np.random.default_rng(seed).permutation(size)[:count]] = True
        return [mask]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(boolean[17], 5)
        yield cls(boolean[129], 129)
        yield cls(boolean[7], 0)
        yield cls(boolean[1000], 400)
        yield cls(boolean[0], 0)
