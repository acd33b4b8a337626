"""Matmuls that produce, or consume, per-row normalisation statistics.

The matmul that produces the rows also gives the moments of runs of their columns. The matmul that
reads the rows combines these, and applies the norm to its accumulators. So does a matmul whose
residual are the normalised rows. No kernel is needed for the norm alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, reduce, select
from hidet.compute.functions import rsqrt
from hidet.compute.sizes import Shape, same_shape, spelled
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, apply_all, operator
from hidet.ir.expr import Expr
from hidet.types import DType, Size, TensorType, bf16, f16, f32

RUN = 64
"""Columns of a run."""


def linear_moments(
    x: Tensor, weight: Tensor, residual: Tensor, bias: Tensor | None = None, *,
    residual_moments: Tensor | None = None, residual_gain: Tensor | None = None,
    gain: Tensor | None = None, transpose_b: bool = True, eps: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """y[..., n] = x[..., k] @ weight[n, k]^T + bias[n] + residual[..., n], and moments of its rows.

    They are float32[..., n / 64, 2], of each run of 64 columns: its mean, and the sum of squared
    differences from it. With a gain[n] there is a third result, y * gain. Without `transpose_b` the
    weight is [k, n]. If `residual_moments` is given,
    layer_norm(residual) * residual_gain[n] takes the place of the residual.
    """
    operands = x, weight, bias, residual, residual_moments, residual_gain, gain
    return apply_all(LinearMoments, *operands, transpose_b=transpose_b, eps=eps)


def normed_linear(
    x: Tensor, weight: Tensor, moments: Tensor, sums: Tensor, bias: Tensor | None = None,
    *, transpose_b: bool = True, eps: float,
) -> Tensor:  # fmt: skip
    """(layer_norm(rows[..., k]) * gain[k]) @ weight[n, k]^T + bias[n] of x = rows * gain.

    `moments` are those of runs of the rows, `sums` is the float32[n] of what the weight and the
    gain give with each other: gain @ weight^T. `bias` is float32 too.
    """
    return apply(NormedLinear, x, weight, moments, sums, bias, transpose_b=transpose_b, eps=eps)


class OfRows(Op):
    """A product of rows with a weight, before or after a norm."""

    x: TensorType
    weight: TensorType
    bias: TensorType | None
    transpose_b: bool

    def examples(self, seed: int) -> list[Any]:
        labels, found = self.operand_labels(), super().examples(seed)
        return [np.abs(e) if "moments" in at else e for at, e in zip(labels, found, strict=True)]

    def sizes(self) -> tuple[Size, Size]:
        """n and k."""
        n, k = self.weight.shape if self.transpose_b else self.weight.shape[::-1]
        return n, k

    def total(self, x: Grid, weight: Grid, index: tuple[Expr, ...]) -> Expr:
        """An element of the product, in float32."""
        *outer, j = index

        def value(r: Expr) -> Expr:
            other = weight[j, r] if self.transpose_b else weight[r, j]
            return x[(*outer, r)].cast(f32) * other.cast(f32)

        found: Expr = reduce(self.sizes()[1], value, "sum")
        return found

    def require_rows(self) -> None:
        """Raise unless x and the weight can be multiplied, and have one type."""
        if self.weight.ndim != 2 or not self.x.ndim or self.x.dtype is not self.weight.dtype:
            raise ShapeMismatch(f"{self.name} of {self.x} and {self.weight}")
        n, k = self.sizes()
        require_shape("x", self.x, (*self.x.shape[:-1], k))
        require_shape("bias", self.bias, (n,))


def require_shape(what: str, found: TensorType | None, wanted: tuple[Size, ...]) -> None:
    """Raise unless an operand that is there has this shape."""
    if found is not None and not same_shape(found.shape, wanted):
        raise ShapeMismatch(f"{what} is {spelled(found.shape)}, not {spelled(wanted)}")


def runs_of(columns: Size) -> int:
    """How many runs so many columns make; raises unless all are whole."""
    if not isinstance(columns, int) or columns % RUN:
        raise ShapeMismatch(f"{columns} columns make no runs of {RUN}")
    return columns // RUN


def moments_of(y: Grid, shape: Shape) -> Grid:
    """Mean and sum of squared differences of each run of rows."""

    def mean(*index: Expr) -> Expr:
        *row, run = index
        return reduce(RUN, lambda r: y[(*row, run * RUN + r)].cast(f32), "sum") * (1 / RUN)

    means = grid(shape[:-1], mean)

    def moment(*index: Expr) -> Expr:
        *row, run, which = index
        centre = means[(*row, run)]

        def square(r: Expr) -> Expr:
            away = y[(*row, run * RUN + r)].cast(f32) - centre
            return away * away

        return select(which.eq(0), centre, reduce(RUN, square, "sum"))

    return grid(shape, moment)


def statistics(moments: Grid, shape: Shape, eps: float) -> tuple[Grid, Grid]:
    """Mean, and one over the deviation, of each row whose runs have these moments."""
    *rows, runs, _ = shape

    def mean(*row: Expr) -> Expr:
        return reduce(runs, lambda run: moments[(*row, run, 0)], "sum") * (1 / runs)

    means = grid(rows, mean)

    def scale(*row: Expr) -> Expr:
        def squares(run: Expr) -> Expr:
            away = moments[(*row, run, 0)] - means[row]
            return moments[(*row, run, 1)] + away * away * RUN

        return rsqrt(reduce(runs, squares, "sum") * (1 / (runs * RUN)) + eps)

    return means, grid(rows, scale)


def true_statistics(moments: Any, eps: float) -> tuple[Any, Any]:
    """The same in numpy, with an axis for the columns."""
    mean = moments[..., 0].mean(-1, keepdims=True)
    squares = moments[..., 1] + RUN * np.square(moments[..., 0] - mean)
    return mean, 1 / np.sqrt(squares.mean(-1, keepdims=True) / RUN + eps)


@operator("linear_moments")
class LinearMoments(OfRows):
    """Rows of a product with a residual, moments of their runs, and the rows times a gain.

    With moments of its own the residual is normed where it is added.
    """

    x: TensorType
    weight: TensorType
    bias: TensorType | None
    residual: TensorType
    residual_moments: TensorType | None = None
    residual_gain: TensorType | None = None
    gain: TensorType | None = None
    transpose_b: bool = True
    eps: float = 0.0

    factor = 64

    def infer(self) -> tuple[TensorType, ...]:
        self.require_rows()
        n, rows = self.sizes()[0], self.x.shape[:-1]
        y, moments = self.x.dtype[*rows, n], f32[*rows, runs_of(n), 2]
        require_shape("residual", self.residual, y.shape)
        require_shape("residual_moments", self.residual_moments, moments.shape)
        require_shape("residual_gain", self.residual_gain, (n,))
        require_shape("gain", self.gain, (n,))
        if (self.residual_gain is None) is not (self.residual_moments is None):
            raise BadArgument("a residual that is yet to be normed has moments and a gain")
        return (y, moments) if self.gain is None else (y, moments, y)

    def precisions(self) -> tuple[DType, ...]:
        return (self.x.dtype,) * len(self.infer())

    def define(
        self, x: Grid, weight: Grid, bias: Grid | None, residual: Grid,
        residual_moments: Grid | None, residual_gain: Grid | None, gain: Grid | None,
    ) -> tuple[Grid, ...]:  # fmt: skip
        result, moments, *_ = self.infer()
        near = self.near(residual, residual_moments, residual_gain)

        def total(*index: Expr) -> Expr:
            found = self.total(x, weight, index)
            found = found if bias is None else found + bias[index[-1]].cast(f32)
            return found + near(index)

        wide = grid(result.shape, total)
        y = grid(result.shape, lambda *index: wide[index].cast(result.dtype))
        found = y, moments_of(y, moments.shape)
        if gain is None:
            return found

        def scaled(*index: Expr) -> Expr:
            return (wide[index] * gain[index[-1]].cast(f32)).cast(result.dtype)

        return *found, grid(result.shape, scaled)

    def near(
        self, residual: Grid, moments: Grid | None, gain: Grid | None
    ) -> Callable[[tuple[Expr, ...]], Expr]:
        """What an element of the residual is, in float32."""
        if moments is None or gain is None:
            return lambda index: residual[index].cast(f32)
        means, scales = statistics(moments, self.infer()[1].shape, self.eps)

        def normed(index: tuple[Expr, ...]) -> Expr:
            row, j = index[:-1], index[-1]
            away = residual[index].cast(f32) - means[row]
            return away * scales[row] * gain[j].cast(f32)

        return normed

    def reference(
        self, x: Any, weight: Any, bias: Any, residual: Any,
        residual_moments: Any, residual_gain: Any, gain: Any,
    ) -> Any:  # fmt: skip
        if residual_moments is not None:
            mean, scale = true_statistics(residual_moments, self.eps)
            residual = (residual - mean) * scale * residual_gain
        y = x @ (weight.T if self.transpose_b else weight) + residual
        y = y if bias is None else y + bias
        runs = y.reshape(*y.shape[:-1], -1, RUN)
        moments = np.stack([runs.mean(-1), runs.var(-1) * RUN], -1)
        return (y, moments) if gain is None else (y, moments, y * gain)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f16[7, 33], f16[64, 33], f16[64], f16[7, 64])
        yield cls(bf16[2, 3, 16], bf16[16, 128], None, bf16[2, 3, 128], transpose_b=False)
        near, moments, gain = f16[7, 128], f32[7, 2, 2], f16[128]
        yield cls(f16[7, 33], f16[128, 33], f32[128], near, moments, gain, gain, eps=1e-2)


@operator("normed_linear")
class NormedLinear(OfRows):
    """A product of rows that are normed by the moments of their runs."""

    x: TensorType
    weight: TensorType
    moments: TensorType
    sums: TensorType
    bias: TensorType | None
    transpose_b: bool
    eps: float

    factor = 64

    def infer(self) -> TensorType:
        self.require_rows()
        n, k = self.sizes()
        require_shape("moments", self.moments, (*self.x.shape[:-1], runs_of(k), 2))
        require_shape("sums", self.sums, (n,))
        return self.x.dtype[*self.x.shape[:-1], n]

    def define(self, x: Grid, weight: Grid, moments: Grid, sums: Grid, bias: Grid | None) -> Grid:
        result = self.infer()
        means, scales = statistics(moments, self.moments.shape, self.eps)

        def element(*index: Expr) -> Expr:
            row, j = index[:-1], index[-1]
            total = (self.total(x, weight, index) - means[row] * sums[j]) * scales[row]
            return (total if bias is None else total + bias[j]).cast(result.dtype)

        return grid(result.shape, element)

    def reference(self, x: Any, weight: Any, moments: Any, sums: Any, bias: Any) -> Any:
        mean, scale = true_statistics(moments, self.eps)
        total = x @ (weight.T if self.transpose_b else weight) - mean * sums
        return total * scale + (0 if bias is None else bias)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f16[7, 128], f16[33, 128], f32[7, 2, 2], f32[33], f32[33], True, 1e-5)
        yield cls(bf16[2, 3, 64], bf16[64, 5], f32[2, 3, 1, 2], f32[5], None, False, 1e-6)
