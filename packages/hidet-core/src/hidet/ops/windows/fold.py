"""Windows put back into an image; elements where windows overlap are summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, grid, reduce, select
from hidet.compute.functions import both
from hidet.compute.places import ravel
from hidet.compute.sizes import Shape, numbers, product, same
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant
from hidet.ops.windows.conv import Pairs, each_axis, sides, windows
from hidet.types import Size, TensorType, f16, f32, f64


def fold(
    x: Tensor, size: Sequence[Size], window: int | Sequence[int], *,
    stride: int | Sequence[int] = 1, padding: int | Sequence[int | tuple[int, int]] = 0,
    dilation: int | Sequence[int] = 1,
) -> Tensor:  # fmt: skip
    """The images [n, c, *size] whose windows are x[n, c * elements of a window, windows].

    Elements where windows overlap are summed (Col2Im, torch.nn.functional.fold). Raises
    ShapeMismatch where x does not have as many windows as the image. Source: ONNX Col2Im-18.
    """
    rank = len(size)
    return apply(
        Fold, x, size=tuple(size), window=each_axis(window, rank), stride=each_axis(stride, rank),
        padding=sides(padding, rank), dilation=each_axis(dilation, rank),
    )  # fmt: skip


@operator("fold")
class Fold(Op):
    """Images of which x[n, c * window, blocks] has the windows, what overlaps added up."""

    x: TensorType
    size: tuple[Size, ...]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]

    factor: ClassVar[float] = 16

    def infer(self) -> TensorType:
        if self.x.ndim != 3:
            raise ShapeMismatch(f"fold takes [n, c * window, blocks], not {self.x}")
        if not self.x.dtype.is_float and not self.x.dtype.is_integer:
            raise BadArgument(f"fold does not take {self.x.dtype.name}")
        images, columns, blocks = self.x.shape
        elements = product(self.window)
        if not isinstance(columns, int) or not isinstance(elements, int) or columns % elements:
            raise ShapeMismatch(f"axis 1 of size {columns} has no windows of {elements} elements")
        if same(blocks, product(self.blocks())) is False:
            raise ShapeMismatch(
                f"{blocks} blocks, but {product(self.blocks())} windows in the image"
            )
        return self.x.dtype[(images, columns // elements, *self.size)]

    def blocks(self) -> Shape:
        """How many windows there are along each axis."""
        each = zip(self.size, self.window, self.stride, self.padding, self.dilation, strict=True)
        return tuple(windows(*one) for one in each)

    def define(self, x: Grid) -> Grid:
        wide = accumulator(x.dtype)
        elements, blocks = product(self.window), self.blocks()

        def element(n: Expr, c: Expr, *place: Expr) -> Expr:
            def term(*inner: Expr) -> Expr:
                block, tests = [], []
                for axis, (p, w) in enumerate(zip(place, inner, strict=True)):
                    far = p + self.padding[axis][0] - w * self.dilation[axis]
                    number = far // self.stride[axis]
                    block.append(number)
                    tests += [far >= 0, number < blocks[axis]]
                    if self.stride[axis] > 1:
                        tests.append((far % self.stride[axis]).eq(0))
                value = x[n, c * elements + ravel(inner, self.window), ravel(block, blocks)]
                return select(both(*tests), value.cast(wide), constant(0, wide))

            return reduce(self.window, term, "sum").cast(x.dtype)

        return grid(self.infer().shape, element)

    def reference(self, x: Any) -> Any:
        images, channels, *size = numbers(self.infer().shape)
        room = [before + n + after for n, (before, after) in zip(size, self.padding, strict=True)]
        out = np.zeros((images, channels, *room), x.dtype)
        blocks = numbers(self.blocks())
        parts = x.reshape(images, channels, *self.window, *blocks)
        for inner in np.ndindex(*self.window):
            cut: Any = tuple(
                slice(w * d, w * d + (count - 1) * s + 1, s)
                for w, d, s, count in zip(inner, self.dilation, self.stride, blocks, strict=True)
            )
            out[(..., *cut)] += parts[(slice(None), slice(None), *inner)]
        pairs = zip(self.padding, size, strict=True)
        inside: Any = tuple(slice(before, before + n) for (before, _), n in pairs)
        return out[(..., *inside)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        none, one = ((0, 0), (0, 0)), (1, 1)
        yield cls(f32[2, 6, 30], (7, 6), (2, 1), one, ((0, 0), (0, 0)), (2, 1))
        yield cls(f32[1, 9, 9], (7, 5), (3, 3), (3, 2), ((1, 1), (1, 1)), one)
        yield cls(f16[2, 10, 4], (10, 2), (5, 1), (5, 1), none, one)
        yield cls(
            f64[1, 8, 8], (3, 4, 5), (2, 2, 2), (1, 2, 2), ((0, 0), (0, 1), (0, 0)), (1, 2, 1)
        )
