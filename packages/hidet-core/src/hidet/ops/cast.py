"""Changing the element type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from hidet.compute import Grid
from hidet.graph import Op, Tensor, apply, operator
from hidet.types import DType, TensorType, bf16, boolean, f16, f32, f64, i8, i32, i64, u8
from hidet.types import dtype as dtype_of


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
        return x != 0 if self.dtype.is_bool else x.astype(self.dtype.numpy)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for source, target in (
            (f32, f16), (f32, bf16), (f16, f32), (f64, f32), (f32, i32), (f16, i64), (i32, f16),
            (i64, i8), (f32, boolean), (boolean, f32), (boolean, i64), (i32, boolean), (u8, f32),
        ):  # fmt: skip
            yield cls(source[5, 17], target)
        yield cls(f32[()], f16)
        yield cls(f32[0, 3], i32)
