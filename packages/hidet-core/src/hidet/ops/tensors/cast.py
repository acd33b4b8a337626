"""Changing the element type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from hidet.compute import Grid
from hidet.graph import Op, Tensor, apply, operator
from hidet.types import (
    DType,
    TensorType,
    bf16,
    boolean,
    f4e2m1,
    f8e4m3,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0,
    f16,
    f32,
    f64,
    i2,
    i8,
    i32,
    i64,
    u2,
    u4,
    u8,
)
from hidet.types import dtype as dtype_of
from hidet.types.narrow import converted


def cast(x: Tensor, dtype: Any) -> Tensor:
    """Each element as `dtype`: floats to integers toward zero, anything to bool by `!= 0`."""
    to = dtype_of(dtype)
    return x if x.dtype is to else apply(Cast, x, dtype=to)


@operator("cast")
class Cast(Op):
    """Each element as another type; floats outside of an integer type's range have no meaning."""

    x: TensorType
    dtype: DType

    def infer(self) -> TensorType:
        return self.dtype[self.x.shape]

    def define(self, x: Grid) -> Grid:
        return x.cast(self.dtype)

    def reference(self, x: Any) -> Any:
        return x != 0 if self.dtype.is_bool else converted(x, self.dtype)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for source, target in (
            (f32, f16), (f32, bf16), (f16, f32), (f64, f32), (f32, i32), (f16, i64), (i32, f16),
            (i64, i8), (f32, boolean), (boolean, f32), (boolean, i64), (i32, boolean), (u8, f32),
            (f32, f8e4m3), (f8e5m2, f16), (f16, f8e4m3fnuz), (f8e5m2fnuz, bf16), (f8e8m0, f32),
            (f32, f4e2m1), (f4e2m1, i2), (i32, u4), (u2, f64),
        ):  # fmt: skip
            yield cls(source[5, 17], target)
        yield cls(f32[()], f16)
        yield cls(f32[0, 3], i32)
