"""The indices of elements that are not zero. The size of the result depends on the data.

They are counted and numbered first, by a running sum; once the count was read, a second kernel
writes each place where its number says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, select
from hidet.compute import scatter as scattered
from hidet.compute.sizes import agree_shape, numbers, product, spelled
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, convert, wrap
from hidet.ops.elementwise.binary import floor_divide, remainder
from hidet.ops.elementwise.compare import not_equal
from hidet.ops.reductions.cumulative import cumsum
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
        found.append(remainder(whole, 1 if size == 0 else size) if axis else whole)
    return found


def flat_nonzero(x: Tensor) -> Tensor:
    """The places of the elements that are not zero, counted in row-major order: i64[count]."""
    mask = reshape(x if x.dtype.is_bool else not_equal(x, 0), (x.size,))
    most = x.size if isinstance(x.size, int) else None
    count = size_from(total(cast(mask, i64)), "nonzero", 0, most)
    return apply(Compact, mask, cumsum(mask, 0), count=count)


@operator("compact")
class Compact(Op):
    """The places where a mask holds, in order; `ranks` are the running sums of the mask, and
    `count` is how often it holds."""

    mask: TensorType
    ranks: TensorType
    count: Size

    def infer(self) -> TensorType:
        if self.mask.dtype is not boolean or self.ranks.dtype is not i64:
            raise DtypeMismatch(f"compact takes a mask and int64, not {self.mask}, {self.ranks}")
        if self.mask.ndim != 1 or not agree_shape(self.mask.shape, self.ranks.shape):
            raise ShapeMismatch(
                f"a mask of {spelled(self.mask.shape)} and ranks of {spelled(self.ranks.shape)}",
                help="both have one axis, of one size",
            )
        return i64[(self.count,)]

    def define(self, mask: Grid, ranks: Grid) -> Grid:
        end = convert(wrap(self.count), i32)

        def place(at: Expr) -> tuple[Expr]:
            return (select(mask[at], ranks[at].cast(i32) - 1, end),)  # none is behind the end

        nothing = grid((self.count,), lambda at: wrap(0).cast(i64))
        return scattered(nothing, mask.shape, place, lambda at: at.cast(i64), "set_one")

    def reference(self, mask: Any, ranks: Any) -> Any:
        return np.flatnonzero(mask)

    def examples(self, seed: int) -> list[Any]:
        size, count = numbers((*self.mask.shape, self.count))
        mask = np.zeros(size, bool)
        mask[np.random.default_rng(seed).permutation(size)[:count]] = True
        return [mask, np.cumsum(mask)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(boolean[17], i64[17], 5)
        yield cls(boolean[129], i64[129], 129)
        yield cls(boolean[7], i64[7], 0)
        yield cls(boolean[0], i64[0], 0)
