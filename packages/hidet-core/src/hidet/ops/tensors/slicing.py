"""Parts of a tensor: slices, pieces, reversed and rotated axes; and writes into a slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, scatter
from hidet.compute import maximum as larger
from hidet.compute import minimum as smaller
from hidet.compute import select as choose
from hidet.compute.functions import both
from hidet.compute.sizes import (
    agree,
    agree_shape,
    at_most,
    numbers,
    same,
    same_shape,
    spelled,
    tidy,
)
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.graph.dims import axis_of
from hidet.ir.expr import Expr, wrap
from hidet.ops.tensors.shape import reshape
from hidet.types import Size, TensorType, f16, f32, i32

# The builtins, which public functions of this file hide.
python_slice = slice


def slice(
    x: Tensor, axis: int, start: Size | None = None, stop: Size | None = None, step: int = 1
) -> Tensor:
    """x[..., start:stop:step, ...] along `axis`, by Python's rules; `step` may be negative."""
    where = axis_of(axis, x.ndim)
    first, count = slice_range(x.shape[where], start, stop, step)
    starts = [first if a == where else 0 for a in range(x.ndim)]
    sizes = [count if a == where else size for a, size in enumerate(x.shape)]
    return window(x, starts, sizes, [step if a == where else 1 for a in range(x.ndim)])


def window(
    x: Tensor, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[int] | None = None
) -> Tensor:
    """`sizes` elements of each axis from `starts` on, `steps` apart; all must lie within `x`."""
    apart = (1,) * x.ndim if steps is None else tuple(steps)
    if same_shape(x.shape, sizes) and all(step == 1 for step in apart):
        return x
    return apply(Slice, x, starts=tuple(starts), sizes=tuple(sizes), steps=apart)


def select(x: Tensor, axis: int, index: Size) -> Tensor:
    """x[..., index, ...] along `axis`, which the result lacks; negatives count from the end."""
    where = axis_of(axis, x.ndim)
    size = x.shape[where]
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise BadArgument(f"index {index} is outside of axis {axis} of size {size}")
    first = tidy(from_front(index, size))
    starts = [first if a == where else 0 for a in range(x.ndim)]
    sizes = [1 if a == where else size for a, size in enumerate(x.shape)]
    part = window(x, starts, sizes)
    return reshape(part, (*x.shape[:where], *x.shape[where + 1 :]))


def split(x: Tensor, sizes: int | Sequence[Size], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along `axis`; one number is the size of each but a smaller last."""
    where = axis_of(axis, x.ndim)
    whole = x.shape[where]
    if isinstance(sizes, int):
        if not isinstance(whole, int):
            raise ShapeMismatch("a symbolic axis is split by giving all sizes")
        each = sizes
        if each < 1:
            raise BadArgument(f"pieces of {each} elements")
        sizes = [min(each, whole - start) for start in range(0, max(whole, 1), each)]
    out: list[Tensor] = []
    start: Size = 0
    for size in sizes:
        stop = tidy(start + size)
        out.append(slice(x, where, start, stop))
        start = stop
    if not agree(start, whole):
        raise ShapeMismatch(f"pieces of {start} in all from axis {axis} of size {whole}")
    return tuple(out)


def chunk(x: Tensor, count: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `count` pieces of equal size along `axis`, the last one smaller."""
    size = x.shape[axis]
    if not isinstance(size, int):
        raise ShapeMismatch("a symbolic axis cannot be cut in a number of pieces")
    return split(x, max(1, -(-size // count)), axis)


def flip(x: Tensor, axes: int | Sequence[int]) -> Tensor:
    """`x` reversed along `axes`."""
    given = (axes,) if isinstance(axes, int) else axes
    where = {axis_of(axis, x.ndim) for axis in given} if x.ndim else set()
    if not where:
        return x
    starts = [size - 1 if a in where else 0 for a, size in enumerate(x.shape)]
    steps = tuple(-1 if a in where else 1 for a in range(x.ndim))
    return apply(Slice, x, starts=tuple(starts), sizes=x.shape, steps=steps)


def roll(x: Tensor, shifts: int | Sequence[int], axes: int | Sequence[int] | None = None) -> Tensor:
    """The elements shifted by `shifts` along `axes`; what leaves at the end enters at the start.

    Without axes the flattened tensor is rolled.
    """
    if axes is None:
        flat = reshape(x, (-1,))
        return reshape(roll(flat, shifts, 0), x.shape)
    by = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    where = (axes,) if isinstance(axes, int) else tuple(axes)
    if len(by) != len(where):
        raise BadArgument(f"{len(by)} shifts for {len(where)} axes")
    total = [0] * x.ndim
    for shift, axis in zip(by, where, strict=True):
        total[axis_of(axis, x.ndim)] += shift
    return apply(Roll, x, shifts=tuple(total))


def slice_scatter(
    x: Tensor, source: Tensor, axis: int, start: Size | None = None, stop: Size | None = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    """`x` with `source` in place of x[..., start:stop:step, ...] along `axis`; `step` positive."""
    where = axis_of(axis, x.ndim)
    first, count = slice_range(x.shape[where], start, stop, step)
    wanted = [count if a == where else size for a, size in enumerate(x.shape)]
    if not agree_shape(source.shape, wanted):
        raise ShapeMismatch(f"the slice is {spelled(wanted)}, the source {spelled(source.shape)}")
    return apply(SliceScatter, x, source, axis=where, start=first, step=step)


def select_scatter(x: Tensor, source: Tensor, axis: int, index: Size) -> Tensor:
    """`x` with `source` in place of x[..., index, ...] along `axis`."""
    where = axis_of(axis, x.ndim)
    first = from_front(index, x.shape[where])
    wide = reshape(source, (*x.shape[:where], 1, *x.shape[where + 1 :]))
    return apply(SliceScatter, x, wide, axis=where, start=tidy(first), step=1)


def slice_range(size: Size, start: Size | None, stop: Size | None, step: int) -> tuple[Size, Size]:
    """The first index and the number of elements of a slice, by Python's rules."""
    if step == 0:
        raise BadArgument("the step of a slice is 0")
    if step > 0:
        first = within(size, 0 if start is None else start, 0, size)
        last = within(size, size if stop is None else stop, 0, size)
        return first, tidy(largest(tidy((last - first + (step - 1)) // step), 0))
    first = within(size, size - 1 if start is None else start, -1, size - 1)
    last = -1 if stop is None else within(size, stop, -1, size - 1)
    return first, tidy(largest(tidy((first - last + (-step - 1)) // -step), 0))


def within(size: Size, bound: Size, low: Size, high: Size) -> Size:
    """A bound of a slice: counted from the end if negative, then brought into the axis."""
    return smallest(largest(tidy(from_front(bound, size)), low), tidy(high))


def from_front(bound: Size, size: Size) -> Size:
    """A bound of a slice, counted from the front: a symbolic one may be of either sign."""
    if at_most(0, bound) or same(bound, size - 1):  # of an empty axis any bound is right
        return bound
    if at_most(bound, -1):
        return size + bound
    is_negative = -smaller(larger(wrap(bound), -1), 0)
    return bound + size * is_negative


def largest(a: Size, b: Size) -> Size:
    """The larger size."""
    return a if leads(a, b) else b if leads(b, a) else tidy(larger(wrap(a), b))


def smallest(a: Size, b: Size) -> Size:
    """The smaller size."""
    return b if leads(a, b) else a if leads(b, a) else tidy(smaller(wrap(a), b))


def leads(a: Size, b: Size) -> bool:
    """Whether a >= b for certain; no size is larger than 2^31 - 1."""
    if isinstance(b, int) and b <= 0:
        return at_most(0, a) or at_most(b, a)
    return (isinstance(a, int) and a >= 2**31 - 1) or at_most(b, a)


@operator("slice")
class Slice(Op):
    """`sizes` elements from `starts` on, `steps` apart."""

    x: TensorType
    starts: tuple[Size, ...]
    sizes: tuple[Size, ...]
    steps: tuple[int, ...]

    def infer(self) -> TensorType:
        if not len(self.starts) == len(self.sizes) == len(self.steps) == self.x.ndim:
            raise ShapeMismatch(f"a slice of {len(self.sizes)} of {self.x.ndim} axes")
        return self.x.dtype[self.sizes]

    def define(self, x: Grid) -> Grid:
        def element(*index: Expr) -> Expr:
            return x[
                tuple(
                    along(i, start, step)
                    for i, start, step in zip(index, self.starts, self.steps, strict=True)
                )
            ]

        return grid(self.sizes, element)

    def reference(self, x: Any) -> Any:
        for axis, (start, size, step) in enumerate(
            zip(numbers(self.starts), numbers(self.sizes), self.steps, strict=True)
        ):
            x = np.take(x, np.arange(size) * step + start, axis)
        return x

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[9, 33], (2, 5), (4, 7), (1, 4))
        yield cls(f16[5, 8], (4, 0), (5, 8), (-1, 1))
        yield cls(i32[7], (6,), (3,), (-2,))
        yield cls(f32[4, 3], (2, 0), (0, 3), (1, 1))


def along(i: Expr, start: Size, step: int) -> Any:
    """start + i * step."""
    far = i if step == 1 else -i if step == -1 else i * step
    return far if isinstance(start, int) and start == 0 else far + start


@operator("roll")
class Roll(Op):
    """Each axis moved on by its shift, round the end."""

    x: TensorType
    shifts: tuple[int, ...]

    def infer(self) -> TensorType:
        return self.x

    def define(self, x: Grid) -> Grid:
        return grid(
            x.shape,
            lambda *index: x[
                tuple(
                    (i - shift) % size if shift else i
                    for i, shift, size in zip(index, self.shifts, x.shape, strict=True)
                )
            ],
        )

    def reference(self, x: Any) -> Any:
        return np.roll(x, self.shifts, range(x.ndim))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 9], (2, -3))
        yield cls(f16[3, 5, 4], (0, 11, 0))
        yield cls(i32[0, 3], (1, 1))


@operator("slice_scatter")
class SliceScatter(Op):
    """x with the source in place of every `step`th element of an axis, from `start` on."""

    x: TensorType
    source: TensorType
    axis: int
    start: Size
    step: int
    in_place: bool = False

    def infer(self) -> TensorType:
        if self.step < 1:
            raise BadArgument(f"slice_scatter takes a positive step, not {self.step}")
        return self.x

    def define(self, x: Grid, source: Grid) -> Grid:
        if self.in_place:
            return self.update(x, source)

        def element(*index: Expr) -> Expr:
            offset = index[self.axis] - self.start
            number = offset if self.step == 1 else offset // self.step
            tests = [offset >= 0, number < source.shape[self.axis]]
            if self.step != 1:
                tests.append((offset % self.step).eq(0))
            inner = (*index[: self.axis], number, *index[self.axis + 1 :])
            return choose(both(*tests), source[inner].cast(x.dtype), x[index])

        return grid(x.shape, element)

    def update(self, x: Grid, source: Grid) -> Grid:
        """What is written alone, the rest of x staying where it is."""

        def place(*index: Expr) -> tuple[Expr, ...]:
            inner = along(index[self.axis], self.start, self.step)
            return (*index[: self.axis], inner, *index[self.axis + 1 :])

        value = lambda *index: source[index]  # noqa: E731
        return scatter(x, source.shape, place, value, "set_last", in_place=True)

    def reference(self, x: Any, source: Any) -> Any:
        out = np.array(x)
        size = source.shape[self.axis]
        places = [int(self.start) + self.step * n for n in range(size)]  # type: ignore[arg-type]
        out[(python_slice(None),) * self.axis + (places,)] = source
        return out

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 9], f32[7, 3], 1, 2, 2)
        yield cls(f16[5, 4], f16[2, 4], 0, 3, 1)
        yield cls(f32[5, 4], f32[0, 4], 0, 3, 1)
