"""Reading at positions that tensors hold: gather, lookups. Positions must be within range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, select
from hidet.compute.grid import spread
from hidet.compute.sizes import Shape, agree_shape, broadcast, numbers, spelled
from hidet.errors import BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.graph.dims import axis_of
from hidet.ir.expr import Expr, wrap
from hidet.ops.indexing.compact import nonzero_columns
from hidet.ops.tensors.shape import reshape
from hidet.ops.tensors.slicing import select as select_one
from hidet.ops.tensors.slicing import slice as slice_axis
from hidet.types import Size, TensorType, f16, f32, i32, i64

Item = int | slice | Tensor | EllipsisType | None


def gather(x: Tensor, axis: int, index: Tensor) -> Tensor:
    """x at `index` along `axis`, at the same position on other axes, as numpy.take_along_axis."""
    return apply(Gather, x, index, axis=axis_of(axis, x.ndim))


def index_select(x: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices of x along `axis` whose numbers the 1-d `index` holds."""
    return apply(Take, x, (index,), axes=(axis_of(axis, x.ndim),))


def embedding(weight: Tensor, index: Tensor) -> Tensor:
    """weight[index]: the row of `weight` for each element of `index`."""
    return apply(Take, weight, (index,), axes=(0,))


def take(x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """x[indices] as numpy has it, for integer tensors, None meaning the whole axis.

    The indices broadcast; their shape stands where the first of them is, or in front if axes
    without an index lie between them. Negative positions count from the end. A mask stands for as
    many axes as it has, and for the positions where it holds.
    """
    if isinstance(indices, Tensor):
        raise BadArgument(
            "take takes a list with a tensor or None for each axis, not one tensor",
            help="index_select(x, axis, index) takes the elements of one axis",
        )
    axes, given = chosen(x, indices)
    return apply(Take, x, given, axes=axes)


def one_hot(index: Tensor, classes: int) -> Tensor:
    """A new last axis of size `classes` with 1 at the index and 0 elsewhere (int64)."""
    return apply(OneHot, index, classes=classes)


def index(x: Tensor, items: Item | tuple[Item, ...]) -> Tensor:
    """x[items] with integers, slices, None, ..., integer tensors and masks, by numpy's rules."""
    listed = completed(items if isinstance(items, tuple) else (items,), x.ndim)
    tensors: list[Tensor | None] = []
    axis = 0
    for item in listed:
        if item is None:
            x = reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))
        elif isinstance(item, int):
            x = select_one(x, axis, item)
            continue
        elif isinstance(item, slice) and item != slice(None):
            x = slice_axis(x, axis, item.start, item.stop, item.step or 1)
        tensors.append(item if isinstance(item, Tensor) else None)
        axis += axes_of(item)
    return x if all(each is None for each in tensors) else take(x, tensors)


def axes_of(item: Any) -> int:
    """How many axes an item is about: a mask about all that it has."""
    if item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, Tensor) and item.dtype.is_bool else 1


def completed(items: tuple[Any, ...], ndim: int) -> list[int | slice | Tensor | None]:
    """The items with ... written out, one for each axis."""
    places = [n for n, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise BadArgument("an index with more than one ...")
    missing = ndim - sum(map(axes_of, (each for each in items if each is not None)))
    if missing < 0:
        raise ShapeMismatch(f"too many indices for {ndim} dimensions")
    for item in items:
        if isinstance(item, bool) or not isinstance(item, Item):
            raise BadArgument(f"a tensor cannot be indexed by {item!r}")
    whole = [slice(None)] * missing
    cut = places[0] if places else len(items)
    return [*items[:cut], *whole, *items[cut + 1 :]]


def chosen(
    x: Tensor, indices: Sequence[Tensor | None]
) -> tuple[tuple[int, ...], tuple[Tensor, ...]]:
    """The indexed axes and their indices."""
    indices = without_masks(x, indices)
    if len(indices) > x.ndim:
        raise ShapeMismatch(f"{len(indices)} indices for {x.ndim} dimensions")
    pairs = [(axis, each) for axis, each in enumerate(indices) if each is not None]
    if not pairs:
        raise BadArgument("no axis is indexed")
    return tuple(axis for axis, _ in pairs), tuple(each for _, each in pairs)


def without_masks(x: Tensor, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The indices with positions for each mask, along each of its axes."""
    found: list[Tensor | None] = []
    for each in indices:
        if each is None or not each.dtype.is_bool:
            found.append(each)
            continue
        axes = x.shape[len(found) : len(found) + each.ndim]
        if not each.ndim or not agree_shape(axes, each.shape):
            raise ShapeMismatch(
                f"a mask of {spelled(each.shape)} for axes of {spelled(axes)}",
                help="a mask is as large as what it selects from",
            )
        found += nonzero_columns(each)
    return found


def require_integers(name: str, index: TensorType) -> None:
    """Raise unless positions are integers."""
    if not index.dtype.is_integer:
        raise DtypeMismatch(f"{name} takes integer positions, not {index.dtype.name}")


def positions(shape: tuple[Any, ...], limit: Any, of: TensorType, seed: int) -> Any:
    """Test positions below `limit`."""
    random = np.random.default_rng(seed + 1)
    return np.asarray(random.integers(0, max(int(limit), 1), shape)).astype(of.dtype.numpy)


@operator("gather")
class Gather(Op):
    """The element of x at `index` along `axis` and at the same place otherwise."""

    x: TensorType
    index: TensorType
    axis: int

    def infer(self) -> TensorType:
        require_integers(self.name, self.index)
        if self.index.ndim != self.x.ndim:
            raise ShapeMismatch(f"index has {self.index.ndim} dimensions, x has {self.x.ndim}")
        return self.x.dtype[self.index.shape]

    def define(self, x: Grid, index: Grid) -> Grid:
        if not x.ndim:
            return x

        def element(*where: Expr) -> Expr:
            return x[(*where[: self.axis], index[where], *where[self.axis + 1 :])]

        return grid(index.shape, element)

    def reference(self, x: Any, index: Any) -> Any:
        out = np.empty(index.shape, x.dtype)
        for where in np.ndindex(*index.shape):
            place = list(where)
            if where:
                place[self.axis] = index[where]
            out[where] = x[tuple(place)]
        return out

    def examples(self, seed: int) -> list[Any]:
        x, index = super().examples(seed)
        limit = self.x.shape[self.axis] if self.x.ndim else 1
        return [x, positions(index.shape, limit, self.index, seed)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 9], i64[7, 4], 1)
        yield cls(f16[5, 3, 4], i32[2, 3, 3], 0)
        yield cls(f32[4, 3], i64[0, 3], 0)
        yield cls(f32[()], i64[()], 0)


def take_shape(x: Shape, indices: Sequence[Shape], axes: Sequence[int]) -> Shape:
    """The shape of x[indices]."""
    common = broadcast(*indices)
    first = front(axes)
    rest = [size for axis, size in enumerate(x) if axis not in axes]
    return (*rest[:first], *common, *rest[first:])


def front(axes: Sequence[int]) -> int:
    """Where in the result the indices' axes begin."""
    together = list(axes) == list(range(axes[0], axes[0] + len(axes)))
    return axes[0] if together else 0


def source_index(
    x: Grid, indices: Sequence[Grid], axes: Sequence[int], where: Sequence[Expr]
) -> tuple[Expr, ...]:
    """Where in x the element at `where` of x[indices] is."""
    common = broadcast(*(each.shape for each in indices))
    first = front(axes)
    inner = where[first : first + len(common)]
    rest = iter([*where[:first], *where[first + len(common) :]])
    given = dict(zip(axes, indices, strict=True))
    return tuple(
        wrapped(wrap(spread(given[axis], inner, common)), size) if axis in given else next(rest)
        for axis, size in enumerate(x.shape)
    )


def wrapped(e: Expr, size: Size) -> Expr:
    """A position that may count from the end."""
    small = e.cast(i32)
    if e.dtype.limits[0] == 0:
        return small
    return select(small < 0, small + size, small)


@family
class Indexed(Op):
    """What x[indices] means for some axes of x."""

    x: TensorType
    indices: tuple[TensorType, ...]

    def part(self, axes: tuple[int, ...]) -> Shape:
        """The shape of x[indices]."""
        for each in self.indices:
            require_integers(self.name, each)
        return take_shape(self.x.shape, [each.shape for each in self.indices], axes)

    def places(self, axes: tuple[int, ...], seed: int) -> list[Any]:
        """Test positions, some of them counted from the end."""
        return [
            np.asarray(
                positions(each.shape, self.x.shape[axis], each, seed + axis)
                - (axis % 2) * numbers(self.x.shape)[axis],
                each.dtype.numpy,
            )
            for axis, each in zip(axes, self.indices, strict=True)
        ]


@operator("take")
class Take(Indexed):
    """x[indices], where the indices stand for `axes` of x."""

    axes: tuple[int, ...]

    def infer(self) -> TensorType:
        return self.x.dtype[self.part(self.axes)]

    def define(self, x: Grid, indices: tuple[Grid, ...]) -> Grid:
        shape = self.infer().shape
        return grid(shape, lambda *where: x[source_index(x, indices, self.axes, where)])

    def reference(self, x: Any, indices: Any) -> Any:
        given = dict(zip(self.axes, indices, strict=True))
        return x[tuple(given.get(axis, slice(None)) for axis in range(x.ndim))]

    def examples(self, seed: int) -> list[Any]:
        return [super().examples(seed)[0], *self.places(self.axes, seed)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[11, 6], (i64[5, 3],), (0,))
        yield cls(f16[4, 7, 5], (i32[6],), (1,))
        yield cls(f32[4, 7, 5], (i64[3, 1], i64[2]), (1, 2))
        yield cls(f32[4, 7, 5], (i64[3], i64[3]), (0, 2))
        yield cls(f32[4, 5], (i64[0],), (0,))
        yield cls(f32[4, 5], (i64[()], i64[()]), (0, 1))


@operator("one_hot")
class OneHot(Op):
    """1 at the index along a new last axis, 0 elsewhere."""

    index: TensorType
    classes: int

    def infer(self) -> TensorType:
        require_integers(self.name, self.index)
        return i64[*self.index.shape, self.classes]

    def define(self, index: Grid) -> Grid:
        def element(*where: Expr) -> Expr:
            *outer, c = where
            return index[tuple(outer)].eq(c).cast(i64)

        return grid(self.infer().shape, element)

    def reference(self, index: Any) -> Any:
        return np.equal(index[..., None], np.arange(self.classes)).astype(np.int64)

    def examples(self, seed: int) -> list[Any]:
        return [positions(self.index.shape, self.classes, self.index, seed)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(i64[7], 10)
        yield cls(i32[2, 3], 4)
        yield cls(i64[0], 3)
        yield cls(i64[()], 3)
