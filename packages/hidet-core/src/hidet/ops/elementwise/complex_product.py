"""Products of complex numbers whose parts lie beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, select
from hidet.compute.sizes import broadcast
from hidet.errors import ShapeMismatch
from hidet.graph import Op, operator
from hidet.ir.expr import Expr
from hidet.types import TensorType, f32, f64


@operator("complex_product")
class ComplexProduct(Op):
    """x[..., 2] times y[..., 2], whose last axis is that of real and imaginary parts."""

    x: TensorType
    y: TensorType

    def infer(self) -> TensorType:
        if self.x.shape[-1:] != (2,) or self.y.shape[-1:] != (2,) or self.y.ndim > self.x.ndim:
            raise ShapeMismatch(f"complex_product of {self.x} and {self.y}")
        if broadcast(self.x.shape, self.y.shape) != self.x.shape:
            raise ShapeMismatch(f"complex_product of {self.x} and {self.y}")
        return self.x

    def define(self, x: Grid, y: Grid) -> Grid:
        def element(*index: Expr) -> Expr:
            *outer, part = index
            inner = [
                0 if size == 1 else at
                for at, size in zip(outer[x.ndim - y.ndim :], y.shape[:-1], strict=True)
            ]
            cosine, sine = y[*inner, 0], y[*inner, 1]
            along = x[*outer, part] * cosine
            across = x[*outer, 1 - part] * sine
            return along + select(part.eq(0), -across, across)

        return grid(x.shape, element)

    def reference(self, x: Any, y: Any) -> Any:
        z = (x[..., 0] + 1j * x[..., 1]) * (y[..., 0] + 1j * y[..., 1])
        return np.stack([z.real, z.imag], -1)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[3, 7, 5, 2], f32[7, 5, 2])
        yield cls(f64[4, 2], f64[1, 2])
