"""Moving elements without computing: reshape, permute, expand and functions made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid
from hidet.compute.places import ravel, unravel
from hidet.compute.sizes import agree, numbers, product, same, same_shape, spelled
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.graph.dims import axes_of, axis_of, reshaped
from hidet.ir.expr import Expr
from hidet.types import Size, TensorType, f16, f32, i32


def reshape(x: Tensor, shape: Size | Sequence[Size]) -> Tensor:
    """The same elements in row-major order under another shape; one size may be -1."""
    wanted = reshaped(x.shape, listed(shape))
    return x if same_shape(x.shape, wanted) else apply(Reshape, x, shape=wanted)


def listed(shape: Size | Sequence[Size]) -> tuple[Size, ...]:
    """A shape as a tuple; a single size is a shape of one axis."""
    return (shape,) if isinstance(shape, int | Expr) else tuple(shape)


def copy(x: Tensor) -> Tensor:
    """A copy of `x` in memory of its own."""
    return apply(Reshape, x, shape=x.shape)


def permute(x: Tensor, axes: Sequence[int]) -> Tensor:
    """`x` with its axes reordered: axis `axes[i]` of `x` becomes axis i."""
    order = tuple(axis_of(axis, x.ndim) for axis in axes)
    return x if order == tuple(range(x.ndim)) else apply(Permute, x, axes=order)


def transpose(x: Tensor, a: int = -2, b: int = -1) -> Tensor:
    """`x` with the axes `a` and `b` swapped."""
    first, second = axis_of(a, x.ndim), axis_of(b, x.ndim)
    order = list(range(x.ndim))
    if x.ndim:
        order[first], order[second] = second, first
    return permute(x, order)


def expand(x: Tensor, shape: Size | Sequence[Size]) -> Tensor:
    """`x` broadcast to `shape`: axes of size 1 repeat, leading axes are added; -1 keeps a size."""
    shape = listed(shape)
    skipped = len(shape) - x.ndim
    if skipped < 0:
        raise ShapeMismatch(f"cannot expand {spelled(x.shape)} to {spelled(shape)}")
    kept = (*shape[:skipped], *x.shape)
    wanted = tuple(
        old if isinstance(new, int) and new == -1 else new
        for new, old in zip(shape, kept, strict=True)
    )
    return x if same_shape(x.shape, wanted) else apply(Expand, x, shape=wanted)


def squeeze(x: Tensor, axes: int | Sequence[int] | None = None) -> Tensor:
    """`x` without those of the given axes (None: all) that have size 1."""
    chosen = axes_of(axes, x.ndim)
    kept = [s for axis, s in enumerate(x.shape) if axis not in chosen or same(s, 1) is not True]
    return reshape(x, kept)


def unsqueeze(x: Tensor, axes: int | Sequence[int]) -> Tensor:
    """`x` with axes of size 1, which have the positions `axes` in the result."""
    given = (axes,) if isinstance(axes, int) else tuple(axes)
    rank = x.ndim + len(given)
    where = axes_of(given, rank)
    sizes = iter(x.shape)
    return reshape(x, [1 if axis in where else next(sizes) for axis in range(rank)])


def flatten(x: Tensor, first: int = 0, last: int = -1) -> Tensor:
    """`x` with the axes from `first` to `last` as one axis; a 0-d tensor becomes 1-d."""
    start, stop = axis_of(first, x.ndim), axis_of(last, x.ndim) + 1
    if start >= stop:
        raise ShapeMismatch(f"axis {first} lies behind axis {last}")
    return reshape(x, (*x.shape[:start], product(x.shape[start:stop]), *x.shape[stop:]))


@operator("reshape")
class Reshape(Op):
    """The same elements in row-major order under `shape`."""

    x: TensorType
    shape: tuple[Size, ...]

    def infer(self) -> TensorType:
        return self.x.dtype[reshaped(self.x.shape, self.shape)]

    def define(self, x: Grid) -> Grid:
        return grid(self.shape, lambda *index: x[reindex(index, self.shape, x.shape)])

    def reference(self, x: Any) -> Any:
        return x.reshape(self.shape)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[6, 35], (7, 30))
        yield cls(f16[4, 6, 5], (4, 1, 2, 3, 5))
        yield cls(f32[2, 3, 4], (2, 12))
        yield cls(i32[1], ())
        yield cls(f32[0, 3], (3, 0, 2))


def reindex(
    index: Sequence[Expr], shape: Sequence[Size], source: Sequence[Size]
) -> tuple[Any, ...]:
    """Where in `source` the element at `index` of `shape` lies; only axes that change are split."""
    out: list[Any] = []
    here = 0
    for there, stop in groups(shape, source):
        out += unravel(ravel(index[here:there], shape[here:there]), source[len(out) : stop])
        here = there
    return tuple(out)


def groups(a: Sequence[Size], b: Sequence[Size]) -> Iterator[tuple[int, int]]:
    """Ends of the shortest runs of axes of `a` and of `b` that hold equally many elements."""
    i = j = 0
    while i < len(a) or j < len(b):
        start_a, start_b = i, j
        while True:
            left, right = product(a[start_a:i]), product(b[start_b:j])
            if (i, j) != (start_a, start_b) and same(left, right):
                break
            if i == len(a) and j == len(b):
                break
            if j == len(b) or (i < len(a) and not exceeds(left, right)):
                i += 1
            else:
                j += 1
        if i < len(a) and j == len(b) and all_ones(a[i:]):
            i = len(a)
        if j < len(b) and i == len(a) and all_ones(b[j:]):
            j = len(b)
        yield i, j


def exceeds(a: Size, b: Size) -> bool:
    """Whether a is certainly more than b; symbols count as large."""
    if isinstance(a, int) and isinstance(b, int):
        return a > b
    return isinstance(b, int)


def all_ones(sizes: Sequence[Size]) -> bool:
    """Whether every size is 1."""
    return all(same(size, 1) is True for size in sizes)


@operator("permute")
class Permute(Op):
    """Axis number `axes[i]` of x as axis i."""

    x: TensorType
    axes: tuple[int, ...]

    def infer(self) -> TensorType:
        if sorted(self.axes) != list(range(self.x.ndim)):
            raise ShapeMismatch(f"{self.axes} are not the {self.x.ndim} axes, each once")
        return self.x.dtype[tuple(self.x.shape[axis] for axis in self.axes)]

    def define(self, x: Grid) -> Grid:
        where = {axis: position for position, axis in enumerate(self.axes)}
        return grid(
            self.infer().shape,
            lambda *index: x[tuple(index[where[axis]] for axis in range(x.ndim))],
        )

    def reference(self, x: Any) -> Any:
        return np.transpose(x, self.axes)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], (1, 0))
        yield cls(f16[2, 3, 5, 4], (0, 2, 3, 1))
        yield cls(i32[0, 3], (1, 0))


@operator("expand")
class Expand(Op):
    """Axes of size 1 repeated, and leading axes added, up to `shape`."""

    x: TensorType
    shape: tuple[Size, ...]

    def infer(self) -> TensorType:
        skipped = len(self.shape) - self.x.ndim
        for old, new in zip(self.x.shape, self.shape[max(skipped, 0) :], strict=False):
            if skipped < 0 or not (same(old, 1) or agree(old, new)):
                raise ShapeMismatch(
                    f"cannot expand {spelled(self.x.shape)} to {spelled(self.shape)}"
                )
        return self.x.dtype[self.shape]

    def define(self, x: Grid) -> Grid:
        skipped = len(self.shape) - x.ndim
        repeated = [same(old, 1) is True for old in x.shape]

        def element(*index: Expr) -> Expr:
            own = index[skipped:]
            return x[tuple(0 if one else e for one, e in zip(repeated, own, strict=True))]

        return grid(self.shape, element)

    def reference(self, x: Any) -> Any:
        return np.broadcast_to(x, numbers(self.shape))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 1], (7, 33))
        yield cls(f16[3, 1, 5], (2, 3, 4, 5))
        yield cls(i32[()], (3, 2))
        yield cls(f32[1, 3], (0, 3))
