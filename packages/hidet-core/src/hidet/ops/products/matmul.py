"""Matmul, with and without a bias."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, reduce
from hidet.compute.sizes import Shape, agree, agree_shape, broadcast, same, spelled
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr
from hidet.ops.tensors.shape import reshape, unsqueeze
from hidet.types import DType, TensorType, bf16, f16, f32, f64, i8, i32, promote, u8


def matmul(
    a: Tensor,
    b: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """The matmul of a[..., m, k] and b[..., k, n]; leading axes broadcast.

    A 1-d operand is a row (left) or a column (right), whose axis the result does not have. The
    transposed forms take a[..., k, m] and b[..., n, k]. Narrow floats are summed in float32;
    `dtype` is the type of the result, by default that of the operands.
    """
    if not a.ndim or not b.ndim:
        raise ShapeMismatch("matmul takes no 0-d tensors", help="use multiply")
    left = unsqueeze(a, 1 if transpose_a else 0) if a.ndim == 1 else a
    right = unsqueeze(b, 0 if transpose_b else 1) if b.ndim == 1 else b
    c = apply(Matmul, left, right, transpose_a=transpose_a, transpose_b=transpose_b, dtype=dtype)
    rows = () if a.ndim == 1 else c.shape[-2:-1]
    columns = () if b.ndim == 1 else c.shape[-1:]
    return reshape(c, (*c.shape[:-2], *rows, *columns))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x[..., k] times the transpose of weight[n, k], plus bias[n]."""
    return apply(Linear, x, weight, bias)


@operator("matmul")
class Matmul(Op):
    """c[..., i, j] = sum over r of a[..., i, r] * b[..., r, j]; leading axes broadcast."""

    a: TensorType
    b: TensorType
    transpose_a: bool = False
    transpose_b: bool = False
    dtype: DType | None = None
    """The type of the result; None: the operands'."""

    factor: ClassVar[float] = 64

    def sizes(self) -> tuple[Any, Any, Any]:
        """m, n and k."""
        m, k = self.a.shape[-2:] if not self.transpose_a else self.a.shape[:-3:-1]
        n = self.b.shape[-2 if self.transpose_b else -1]
        return m, n, k

    def batch(self) -> Shape:
        """The common leading axes."""
        return broadcast(self.a.shape[:-2], self.b.shape[:-2])

    def infer(self) -> TensorType:
        if self.a.ndim < 2 or self.b.ndim < 2:
            raise ShapeMismatch("matmul takes matrices", help="unsqueeze vectors first")
        m, n, k = self.sizes()
        inner = self.b.shape[-1 if self.transpose_b else -2]
        if not agree(k, inner):
            raise ShapeMismatch(
                f"cannot multiply {spelled(self.a.shape)} by {spelled(self.b.shape)}",
                help=f"inner extents must agree: {k} is not {inner}",
            )
        result = self.dtype or promote(self.a.dtype, self.b.dtype)
        return result[*self.batch(), m, n]

    def define(self, a: Grid, b: Grid) -> Grid:
        result = self.infer()
        wide = accumulator(promote(self.a.dtype, self.b.dtype))
        batch, k = self.batch(), self.sizes()[2]

        def element(*index: Expr) -> Expr:
            *outer, i, j = index

            def value(r: Expr) -> Expr:
                left = matrix_element(a, outer, batch, (r, i) if self.transpose_a else (i, r))
                right = matrix_element(b, outer, batch, (j, r) if self.transpose_b else (r, j))
                return left.cast(wide) * right.cast(wide)

            return reduce(k, value, "sum").cast(result.dtype)

        return grid(result.shape, element)

    def reference(self, a: Any, b: Any) -> Any:
        if self.infer().dtype.is_integer:
            a, b = a.astype(np.int64), b.astype(np.int64)
        left = np.swapaxes(a, -1, -2) if self.transpose_a else a
        right = np.swapaxes(b, -1, -2) if self.transpose_b else b
        return np.matmul(left, right)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], f32[33, 5])
        yield cls(f16[2, 3, 17, 9], f16[3, 9, 8])
        yield cls(bf16[4, 16], bf16[2, 16, 3])
        yield cls(f64[5, 7], f64[7, 6])
        yield cls(i32[3, 4], i8[4, 5])
        yield cls(f32[9, 7], f32[5, 9], True, True)
        yield cls(f16[2, 7, 9], f16[2, 5, 9], False, True)
        yield cls(f16[5, 9], f16[9, 3], dtype=f32)
        yield cls(u8[5, 9], i8[9, 6], dtype=i32)
        yield cls(i8[2, 3, 9], i8[7, 9], False, True, i32)
        yield cls(f32[3, 0], f32[0, 4])
        yield cls(f32[0, 3], f32[3, 4])


def matrix_element(x: Grid, outer: list[Expr], batch: Shape, inner: tuple[Expr, Expr]) -> Expr:
    """The element of a stack of matrices at a broadcast batch index."""
    skipped = len(batch) - (x.ndim - 2)
    sizes = x.shape[:-2]
    index = [
        0 if same(size, 1) and not same(batch[skipped + axis], 1) else outer[skipped + axis]
        for axis, size in enumerate(sizes)
    ]
    return x[(*index, *inner)]


@operator("linear")
class Linear(Op):
    """y[..., j] = sum over r of x[..., r] * weight[j, r], plus bias[j]."""

    x: TensorType
    weight: TensorType
    bias: TensorType | None

    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        if self.weight.ndim != 2 or not self.x.ndim:
            raise ShapeMismatch(
                f"linear takes x[..., k] and weight[n, k], not {spelled(self.x.shape)} and "
                f"{spelled(self.weight.shape)}"
            )
        n, k = self.weight.shape
        if not agree(self.x.shape[-1], k):
            raise ShapeMismatch(
                f"x is {spelled(self.x.shape)}, weight {spelled(self.weight.shape)}",
                help=f"their last sizes must agree: {self.x.shape[-1]} is not {k}",
            )
        if self.bias is not None and not agree_shape(self.bias.shape, (n,)):
            raise ShapeMismatch(f"bias is {spelled(self.bias.shape)}, the result has {n} columns")
        return self.common()[*self.x.shape[:-1], n]

    def common(self) -> DType:
        """The type of the result."""
        return promote(self.x.dtype, self.weight.dtype)

    def define(self, x: Grid, weight: Grid, bias: Grid | None) -> Grid:
        result = self.infer()
        wide = accumulator(result.dtype)

        def element(*index: Expr) -> Expr:
            *outer, j = index
            total = reduce(
                weight.shape[1],
                lambda r: x[(*outer, r)].cast(wide) * weight[j, r].cast(wide),
                "sum",
            )
            return (total if bias is None else total + bias[j].cast(wide)).cast(result.dtype)

        return grid(result.shape, element)

    def reference(self, x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight.T + (0 if bias is None else bias)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], f32[5, 33], f32[5])
        yield cls(f16[2, 3, 16], f16[9, 16], None)
        yield cls(f32[8], f32[4, 8], f32[4])
        yield cls(bf16[0, 4], bf16[3, 4], bf16[3])
