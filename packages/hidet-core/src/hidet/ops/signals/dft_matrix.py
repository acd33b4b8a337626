"""The matrix of a discrete Fourier transform, exact where sines and cosines are 0, 1/2 or 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, grid, select
from hidet.compute.functions import cos, sin
from hidet.compute.sizes import numbers
from hidet.graph import Op, operator
from hidet.ir.expr import Expr, constant, wrap
from hidet.types import DType, Size, TensorType, f32, f64, i64

EIGHTH = 0.7853981633974483
"""An eighth of a turn, in radians."""


@operator("dft_matrix")
class DftMatrix(Op):
    """[rows, parts, columns, parts]: what a row of a signal adds to a column of its transform.

    A part is the real (0) or the imaginary (1) one; one part stands for real numbers. The transform
    of `period` elements is turned clockwise, its `inverse` the other way and, unless not `divided`,
    divided by `period`. With `mirrored` each row but the first, and that in the middle, stands for
    its conjugate too.
    """

    rows: Size
    columns: Size
    period: Size
    complex_rows: bool
    complex_columns: bool
    inverse: bool
    mirrored: bool
    dtype: DType
    divided: bool = True

    costly: ClassVar[bool] = True

    def infer(self) -> TensorType:
        return self.dtype[self.rows, 1 + self.complex_rows, self.columns, 1 + self.complex_columns]

    def define(self) -> Grid:
        period = wrap(self.period).cast(i64)
        scale = 1 / period.cast(f64) if self.inverse and self.divided else constant(1, f64)

        def element(i: Expr, p: Expr, k: Expr, q: Expr) -> Expr:
            steps = i.cast(i64) * k.cast(i64)
            # Parts of one kind meet in cosines; of the two sines one is negative.
            sine, minus = p.ne(q), (q > p) if not self.inverse else (p > q)
            value = turned(steps, period, sine)
            value = select(minus, -value, value) * scale
            if self.mirrored:
                alone = i.eq(0) | (i.cast(i64) * 2).eq(period)
                value = value * select(alone, constant(1, f64), constant(2, f64))
            return value.cast(self.dtype)

        return grid(self.infer().shape, element)

    def reference(self) -> Any:
        rows, columns, period = numbers((self.rows, self.columns, self.period))
        place = np.outer(np.arange(rows), np.arange(columns)) % period
        root = np.exp((2j if self.inverse else -2j) * np.pi * place / period)
        root = root / period if self.inverse and self.divided else root
        if self.mirrored:
            alone = (np.arange(rows) == 0) | (2 * np.arange(rows) == period)
            root = root * np.where(alone, 1, 2)[:, None]
        real, imaginary = [root.real, root.imag], [-root.imag, root.real]
        found = np.stack([np.stack(real, -1), np.stack(imaginary, -1)], 1)
        return found[:, : 1 + self.complex_rows, :, : 1 + self.complex_columns]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(7, 7, 7, True, True, False, False, f32)
        yield cls(16, 9, 16, False, True, False, False, f32)
        yield cls(9, 16, 16, True, False, True, True, f32)
        yield cls(5, 9, 9, True, True, True, False, f64)
        yield cls(1, 3, 1, True, True, False, False, f32)
        yield cls(5, 3, 15, False, True, True, False, f32, False)


def turned(steps: Expr, period: Expr, sine: Expr) -> Expr:
    """The cosine, or the `sine`, of steps / period turns in float64; the operands are i64.

    In eighths of a turn, the whole ones are counted in integers; what is left is at most an eighth,
    counted back from the next one in each second eighth. A sine is a cosine a quarter behind.
    """
    eighths = steps % period * 8
    part, rest = eighths // period, eighths % period
    part = (part + select(sine, constant(6, i64), constant(0, i64))) % 8
    left = select((part % 2).eq(1), period - rest, rest)
    angle = left.cast(f64) / period.cast(f64) * EIGHTH
    across = ((part + 1) % 4) >= 2
    value = select(across, sin(angle), cos(angle))
    return select((part >= 2) & (part < 6), -value, value)
