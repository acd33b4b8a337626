"""The bits of elements read as another type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, elementwise
from hidet.errors import DtypeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, Reinterpret
from hidet.types import DType, TensorType, bf16, boolean, f16, f32, f64, i8, i16, i32, i64, u8, u32
from hidet.types import dtype as dtype_of


def bitcast(x: Tensor, dtype: Any) -> Tensor:
    """The bits of each element of `x` read as `dtype`, which is as wide; a bool is a byte, 0 or 1.

    Raises DtypeMismatch for a type of another width. Source: ONNX BitCast-26.
    """
    to = dtype_of(dtype)
    return x if x.dtype is to else apply(BitCast, x, dtype=to)


@operator("bitcast")
class BitCast(Op):
    """The bits of each element read as another type of the same width."""

    x: TensorType
    dtype: DType

    def infer(self) -> TensorType:
        if self.x.dtype.bits != self.dtype.bits:
            raise DtypeMismatch(
                f"the bits of {self.x.dtype.name} are not those of {self.dtype.name}",
                help="both types must be of one width",
            )
        return self.dtype[self.x.shape]

    def define(self, x: Grid) -> Grid:
        def bits(v: Expr) -> Expr:
            # Compilers assume that a bool is 0 or 1, so that none is ever read from other bits.
            value = v.cast(u8) if v.dtype is boolean else v
            to = u8 if self.dtype is boolean else self.dtype
            found = value if value.dtype is to else Reinterpret(value, to)
            return found.ne(0) if self.dtype is boolean else found

        return elementwise(bits, x)

    def reference(self, x: Any) -> Any:
        return x.astype(self.x.dtype.numpy).view(self.dtype.numpy)

    def examples(self, seed: int) -> list[Any]:
        (x,) = super().examples(seed)
        if self.dtype is boolean:
            return [np.abs(x) % 2]
        # Bits of ordinary numbers, so that no result is NaN, whose bits need not be kept.
        if self.dtype.is_float:
            numbers = np.random.default_rng(seed).uniform(-2, 2, x.shape).astype(self.dtype.numpy)
            return [numbers.view(x.dtype)]
        return [x]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for source, target in (
            (f32, i32), (i32, f32), (f64, i64), (i64, f64), (f16, i16), (i16, bf16), (u32, i32),
            (i8, u8), (boolean, u8), (u8, boolean), (bf16, f16),
        ):  # fmt: skip
            yield cls(source[5, 17], target)
        yield cls(f32[()], u32)
        yield cls(i32[0, 3], f32)
