"""Padding: constant, reflected, replicated or circular."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np

from hidet.compute import Grid, grid, maximum, minimum, select
from hidet.compute.functions import absolute, both
from hidet.compute.sizes import numbers, tidy
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant
from hidet.types import Size, TensorType, f16, f32, i32

Mode = Literal["constant", "reflect", "replicate", "circular"]


def pad(
    x: Tensor, widths: Sequence[tuple[Size, Size]], mode: Mode = "constant", value: float = 0
) -> Tensor:
    """`x` with (before, after) more elements on each axis; negative widths crop (constant only).

    "reflect" mirrors without repeating the edge, "replicate" repeats it, "circular" goes round.
    """
    if not all(isinstance(each, Sequence) and len(each) == 2 for each in widths):
        raise BadArgument(
            f"pad takes (before, after) for each axis, not {widths}",
            help=f"a tensor of {x.ndim} axes takes {x.ndim} pairs",
        )
    pairs = tuple((before, after) for before, after in widths)
    if all(before == after == 0 for before, after in pairs if isinstance(before, int)) and all(
        isinstance(each, int) for pair in pairs for each in pair
    ):
        return x
    return apply(Pad, x, widths=pairs, mode=mode, value=value)


@operator("pad")
class Pad(Op):
    """x with a margin on each axis."""

    x: TensorType
    widths: tuple[tuple[Size, Size], ...]
    mode: Mode
    value: float

    def infer(self) -> TensorType:
        if len(self.widths) != self.x.ndim:
            raise ShapeMismatch(f"widths for {len(self.widths)} of {self.x.ndim} axes")
        if self.mode not in ("constant", "reflect", "replicate", "circular"):
            raise BadArgument(f"there is no padding mode {self.mode!r}")
        sizes = []
        for size, (before, after) in zip(self.x.shape, self.widths, strict=True):
            self.check(size, before, after)
            sizes.append(tidy(size + before + after))
        return self.x.dtype[tuple(sizes)]

    def check(self, size: Size, before: Size, after: Size) -> None:
        """One axis: no negative result, and a mirror or a round no wider than there is."""
        known = [each for each in (size, before, after) if isinstance(each, int)]
        if len(known) < 3:
            return
        whole, low, high = known
        if whole + low + high < 0:
            raise ShapeMismatch(f"padding ({low}, {high}) leaves nothing of {whole}")
        limit = {"reflect": whole - 1, "circular": whole}.get(self.mode)
        if limit is not None and max(low, high) > max(limit, 0):
            raise ShapeMismatch(f"{self.mode} padding ({low}, {high}) is too wide for {whole}")
        if self.mode != "constant" and min(low, high) < 0:
            raise BadArgument(f"{self.mode} padding cannot be negative")

    def define(self, x: Grid) -> Grid:
        shape = self.infer().shape
        return grid(shape, self.filled(x) if self.mode == "constant" else self.continued(x))

    def filled(self, x: Grid) -> Any:
        """The element, or the value outside."""

        def element(*index: Expr) -> Expr:
            own, tests = [], []
            for i, size, (before, after) in zip(index, x.shape, self.widths, strict=True):
                inner = i if isinstance(before, int) and before == 0 else i - before
                own.append(inner)
                if not (isinstance(before, int) and before <= 0):
                    tests.append(inner >= 0)
                if not (isinstance(after, int) and after <= 0):
                    tests.append(inner < size)
            if not tests:
                return x[tuple(own)]
            fill = constant(self.value, x.dtype)
            return select(both(*tests), x[tuple(own)], fill)

        return element

    def continued(self, x: Grid) -> Any:
        """The element that continues x."""

        def position(i: Expr, size: Size, widths: tuple[Size, Size]) -> Expr:
            if all(isinstance(each, int) and each == 0 for each in widths):
                return i
            inner = i - widths[0]
            if self.mode == "replicate":
                return minimum(maximum(inner, 0), size - 1)
            if self.mode == "circular":
                return select(both(inner >= 0, inner < size), inner, inner % size)
            return (size - 1) - absolute((size - 1) - absolute(inner))

        return lambda *index: x[tuple(map(position, index, x.shape, self.widths))]

    def reference(self, x: Any) -> Any:
        pairs = [(low, high) for low, high in map(numbers, self.widths)]
        modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
        if self.mode != "constant":
            return np.pad(x, pairs, mode=modes[self.mode])  # type: ignore[call-overload]
        for axis, (before, after) in enumerate(pairs):
            x = np.take(x, range(max(0, -before), x.shape[axis] - max(0, -after)), axis)
        grown = [(max(0, before), max(0, after)) for before, after in pairs]
        return np.pad(x, grown, constant_values=self.value)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[5, 7], ((1, 2), (0, 3)), "constant", 1.5)
        yield cls(f16[5, 7], ((-1, 2), (3, -2)), "constant", 0)
        yield cls(f32[2, 5, 7], ((0, 0), (2, 1), (3, 6)), "reflect", 0)
        yield cls(f32[5, 7], ((4, 7), (0, 2)), "replicate", 0)
        yield cls(f16[5, 4], ((2, 5), (1, 0)), "circular", 0)
        yield cls(i32[0, 3], ((1, 1), (0, 0)), "constant", 7)
