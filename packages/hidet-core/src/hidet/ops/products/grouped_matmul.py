"""Grouped matmul: each group of rows has a matrix of its own, as the experts of a mixture do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, reduce, select
from hidet.compute.sizes import agree, numbers, spelled
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, wrap
from hidet.types import DType, Size, TensorType, bf16, f16, f32, f64, i32, i64, promote


def grouped_matmul(x: Tensor, w: Tensor, ends: Tensor, *, transpose_w: bool = False) -> Tensor:
    """Each row of x[m, k] times the matrix of its group, of w[groups, k, n]; the result is [m, n].

    Group g has the rows from where group g - 1 ends up to, and without, row `ends[g]` (i32 or i64):
    `ends` must not decrease, and may be known only when the product runs. Rows after the last group
    give 0. With `transpose_w` the matrices are w[groups, n, k]. Narrow floats are summed in
    float32. Raises ShapeMismatch and DtypeMismatch.
    """
    return apply(GroupedMatmul, x, w, ends, transpose_w=transpose_w)


@operator("grouped_matmul")
class GroupedMatmul(Op):
    """y[i, j] = sum over r of x[i, r] * w[group of row i, r, j]; 0 for rows of no group."""

    x: TensorType
    w: TensorType
    ends: TensorType
    transpose_w: bool = False

    factor: ClassVar[float] = 64

    def sizes(self) -> tuple[Size, Size, Size]:
        """m, n and k."""
        m, k = self.x.shape
        return m, self.w.shape[1 if self.transpose_w else 2], k

    def common(self) -> DType:
        """The type of the result."""
        return promote(self.x.dtype, self.w.dtype)

    def infer(self) -> TensorType:
        if self.x.ndim != 2 or self.w.ndim != 3 or self.ends.ndim != 1:
            raise ShapeMismatch(
                "grouped_matmul takes x[m, k], w[groups, k, n] and ends[groups], not "
                f"{spelled(self.x.shape)}, {spelled(self.w.shape)} and {spelled(self.ends.shape)}"
            )
        m, n, k = self.sizes()
        inner = self.w.shape[2 if self.transpose_w else 1]
        if not agree(k, inner):
            raise ShapeMismatch(
                f"rows of {k} elements times matrices of {inner} rows",
                help="inner extents must agree",
            )
        if not agree(self.w.shape[0], self.ends.shape[0]):
            raise ShapeMismatch(
                f"{self.w.shape[0]} matrices for {self.ends.shape[0]} groups",
                help="`ends` says of each matrix where its group of rows ends",
            )
        if self.ends.dtype not in (i32, i64):
            raise DtypeMismatch(f"ends are i32 or i64, not {self.ends.dtype.name}")
        return self.common()[m, n]

    def define(self, x: Grid, w: Grid, ends: Grid) -> Grid:
        result = self.infer()
        wide, groups = accumulator(self.common()), w.shape[0]

        def ended(i: Expr) -> Expr:
            return reduce(groups, lambda g: (ends[g] <= i.cast(ends.dtype)).cast(i32), "sum")

        group = grid(x.shape[:1], ended, "group")

        def element(i: Expr, j: Expr) -> Expr:
            def value(r: Expr) -> Expr:
                other = w[(group[i], j, r) if self.transpose_w else (group[i], r, j)]
                both = x[i, r].cast(wide) * other.cast(wide)
                return select(group[i] < groups, both, wrap(0).cast(wide))

            return reduce(x.shape[1], value, "sum").cast(result.dtype)

        return grid(result.shape, element)

    def reference(self, x: Any, w: Any, ends: Any) -> Any:
        out = np.zeros((x.shape[0], w.shape[1 if self.transpose_w else 2]), x.dtype)
        edges = [0, *ends.astype(np.int64)]
        for matrix, first, end in zip(w, edges, edges[1:], strict=False):
            out[first:end] = x[first:end] @ (matrix.T if self.transpose_w else matrix)
        return out

    def examples(self, seed: int) -> list[Any]:
        x, w, ends = super().examples(seed)
        rows, groups = numbers((self.x.shape[0], self.ends.shape[0]))
        drawn = np.random.default_rng(seed + 1).integers(0, rows + 1, groups)
        return [x, w, np.sort(drawn).astype(ends.dtype)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], f32[3, 33, 5], i32[3])
        yield cls(f16[17, 9], f16[4, 8, 9], i64[4], True)
        yield cls(bf16[4, 16], bf16[1, 16, 3], i32[1])
        yield cls(f64[5, 7], f64[9, 7, 6], i64[9])
        yield cls(f32[0, 3], f32[2, 3, 4], i32[2])
        yield cls(f32[3, 0], f32[2, 0, 4], i32[2])
