"""Linear layers with packed weights of 4 bits: two in a byte, scaled by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, reduce
from hidet.compute.sizes import agree, agree_shape, spelled
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr
from hidet.types import Size, TensorType, bf16, f16, f32, i32, u8

MIDDLE = 8
"""The zero point of numbers of 4 bits that have no other."""


def packed_linear(
    x: Tensor, packed: Tensor, scale: Tensor, zero_point: Tensor | None = None,
    bias: Tensor | None = None, *, block: int,
) -> Tensor:  # fmt: skip
    """x[..., k] times the transpose of weights [n, k], plus bias[n].

    The weight at (j, r) is (number - zero_point[j, r / block]) * scale[j, r / block]. The number is
    the low half of byte [j, r / 2] of `packed` (uint8) if r is even, else the high half; rows of it
    are whole blocks. `zero_point` (uint8) is 8 where there is none. Source: ONNX Runtime's
    MatMulNBits.
    """
    return apply(PackedLinear, x, packed, scale, zero_point, bias, block=block)


@operator("packed_linear")
class PackedLinear(Op):
    """y[..., j] = sum over r of x[..., r] * (number[j, r] - zero[j, r / block]) *
    scale[j, r / block], plus bias[j]."""

    x: TensorType
    packed: TensorType
    scale: TensorType
    zero_point: TensorType | None
    bias: TensorType | None
    block: int
    """How many neighbours in a row have one scale."""

    factor: ClassVar[float] = 64

    @property
    def sizes(self) -> tuple[Size, Size, Size]:
        """n, k, and how many blocks a row has."""
        n, blocks = self.scale.shape
        return n, self.x.shape[-1], blocks

    def infer(self) -> TensorType:
        if self.block < 2 or self.block & (self.block - 1):
            raise BadArgument(f"blocks of {self.block}", help="blocks are 2, 4, 8, ... long")
        if self.scale.ndim != 2 or not self.x.ndim:
            raise ShapeMismatch(f"scales are [n, blocks], not {spelled(self.scale.shape)}")
        if self.packed.dtype is not u8 or not self.x.dtype.is_float:
            raise DtypeMismatch("floats are multiplied by numbers that are packed in uint8")
        n, k, blocks = self.sizes
        whole = (k + self.block - 1) // self.block
        for name, of, shape in (
            ("packed", self.packed, (n, blocks * (self.block // 2))),
            ("zero points", self.zero_point, (n, blocks)),
            ("bias", self.bias, (n,)),
        ):
            if of is not None and not agree_shape(of.shape, shape):
                raise ShapeMismatch(f"{name} are {spelled(of.shape)}, not {spelled(shape)}")
        if not agree(whole, blocks):
            raise ShapeMismatch(f"{k} columns are {whole} blocks of {self.block}, not {blocks}")
        return self.x.dtype[*self.x.shape[:-1], n]

    def define(
        self, x: Grid, packed: Grid, scale: Grid, zero_point: Grid | None, bias: Grid | None
    ) -> Grid:
        wide = accumulator(self.x.dtype)

        def weight(j: Expr, r: Expr) -> Expr:
            number = (packed[j, r // 2].cast(i32) >> (r % 2 * 4)) & 15
            zero = MIDDLE if zero_point is None else zero_point[j, r // self.block].cast(i32)
            return (number - zero).cast(wide) * scale[j, r // self.block].cast(wide)

        def element(*index: Expr) -> Expr:
            *outer, j = index
            total = reduce(
                self.x.shape[-1], lambda r: x[(*outer, r)].cast(wide) * weight(j, r), "sum"
            )
            return (total if bias is None else total + bias[j].cast(wide)).cast(self.x.dtype)

        return grid(self.infer().shape, element)

    def reference(self, x: Any, packed: Any, scale: Any, zero_point: Any, bias: Any) -> Any:
        whole = packed.astype(np.int64)
        numbers = np.stack([whole & 15, whole >> 4], -1).reshape(whole.shape[0], -1)
        zero = MIDDLE if zero_point is None else np.repeat(zero_point, self.block, 1)
        weight = (numbers - zero) * np.repeat(scale, self.block, 1)
        found = x @ weight[:, : x.shape[-1]].T
        return found if bias is None else found + bias

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[3, 64], u8[5, 32], f32[5, 2], u8[5, 2], f32[5], 32)
        yield cls(f16[2, 2, 40], u8[7, 24], f16[7, 3], None, None, 16)
        yield cls(bf16[33], u8[4, 32], bf16[4, 1], None, bf16[4], 64)
        yield cls(f32[0, 16], u8[2, 8], f32[2, 1], None, None, 16)
