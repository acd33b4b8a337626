"""Pooling by norms: the p-th root of the sum of p-th powers of each window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, reduce
from hidet.compute.functions import absolute, power, sqrt
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Tensor, apply, operator
from hidet.ir.expr import Expr
from hidet.ops.tensors.layout import channels_second
from hidet.ops.windows.conv import each_axis
from hidet.ops.windows.pool import Each, Margin, Pool, pooling
from hidet.types import TensorType, f16, f32


def lp_pool(
    x: Tensor, window: Each, *, p: float = 2, stride: Each | None = None, padding: Margin = 0,
    dilation: Each = 1, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """(sum |x|**p) ** (1/p) of each window of the floating-point x[n, c, ...]; padding is zero.

    Raises BadArgument unless p > 0. Source: ONNX LpPool-18. `norm` pools over whole axes.
    """
    return apply(LpPool, x, **pooling(x, window, stride, padding, ceil_mode),
                 dilation=each_axis(dilation, x.ndim - 2), p=p)  # fmt: skip


@operator("lp_pool")
class LpPool(Pool):
    """The p-th root of the sum of each window's p-th powers."""

    dilation: tuple[int, ...]
    p: float

    factor: ClassVar[float] = 32

    def spread(self) -> tuple[int, ...]:
        return self.dilation

    def infer(self) -> TensorType:
        if not self.x.dtype.is_float:
            raise DtypeMismatch(f"lp_pool does not take {self.x.dtype.name}")
        if not self.p > 0:
            raise BadArgument(f"a norm of order {self.p}", help="p is positive")
        found: TensorType = super().infer()
        return found

    def define(self, x: Grid) -> Grid:
        wide = accumulator(x.dtype)

        def root(taken: Any, _: Any) -> Expr:
            total = reduce(self.window, lambda *w: self.raised(taken(*w).cast(wide)), "sum")
            value = sqrt(total) if self.p == 2 else power(total, 1 / self.p)
            return (total if self.p == 1 else value).cast(x.dtype)

        return self.of_windows(x, root, 0.0)

    def raised(self, value: Expr) -> Expr:
        """|value| ** p, by multiplication where p is small and whole."""
        if self.p in (1, 2, 3, 4):
            square = value * value
            powers = {
                1: absolute(value),
                2: square,
                3: square * absolute(value),
                4: square * square,
            }
            return powers[int(self.p)]
        return power(absolute(value), self.p)

    def reference(self, x: Any) -> Any:
        x = np.abs(channels_second(x, self.channels_last)) ** self.p
        sums = ((at, piece.sum(-1) ** (1 / self.p)) for at, piece in self.pieces(x, 0.0))
        return self.filled(x, sums)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        two, none, one = ((1, 1), (1, 1)), ((0, 0), (0, 0)), (1, 1)
        yield cls(f32[2, 3, 9, 7], (3, 3), (2, 2), two, False, one, 2)
        yield cls(f32[1, 2, 8, 5], (2, 2), (1, 1), none, False, (2, 1), 3)
        yield cls(f16[1, 2, 8, 5], (2, 3), (2, 2), none, True, one, 1)
        yield cls(f32[1, 2, 11], (4,), (3,), ((1, 1),), False, (1,), 2.5)
