"""The distinct elements of a tensor, or its distinct slices along an axis."""

from __future__ import annotations

from typing import NamedTuple

from hidet.compute.sizes import product, same
from hidet.graph import Tensor
from hidet.graph.dims import axis_of
from hidet.ops.elementwise.binary import logical_and, logical_or, subtract
from hidet.ops.elementwise.compare import equal, less, not_equal
from hidet.ops.elementwise.select import where
from hidet.ops.flow.loops import loop
from hidet.ops.indexing.compact import flat_nonzero
from hidet.ops.indexing.index import take
from hidet.ops.indexing.ordering import argsort, sort
from hidet.ops.indexing.scatter import index_put
from hidet.ops.reductions.cumulative import cumsum
from hidet.ops.reductions.reduce import any as any_of
from hidet.ops.reductions.reduce import argmax
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota, size_value, zeros
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.shape import permute, reshape
from hidet.ops.tensors.slicing import flip
from hidet.types import Size, i32, i64


class Unique(NamedTuple):
    """The distinct values; the index at which each is first, the number of each element among them,
    and how often each occurs (i64)."""

    values: Tensor
    first: Tensor
    inverse: Tensor
    counts: Tensor


def unique(x: Tensor, axis: int | None = None, *, ordered: bool = True) -> Unique:
    """The distinct elements of `x`, or its distinct slices along `axis`: in order, lexicographic
    for slices, or as they come first if not `ordered`.

    NaN is greater than all numbers, and no two are equal. `inverse` has one axis. Ordering takes
    n * n comparisons of n elements on GPUs.
    """
    rows, shape, order = rows_of(x, axis)
    if same(rows.shape[1], 1):
        in_order, places = sort(rows, 0)
        places = reshape(places, (rows.shape[0],))
    else:
        places = lexicographic(rows)
        in_order = take(rows, [places])
    found = grouped(in_order, places)
    return with_shape(found if ordered else as_they_come(found), shape, order)


def unique_consecutive(x: Tensor, axis: int | None = None) -> Unique:
    """As `unique`, but only neighbours are compared: each run of equal elements gives one."""
    rows, shape, order = rows_of(x, axis)
    return with_shape(grouped(rows), shape, order)


def rows_of(x: Tensor, axis: int | None) -> tuple[Tensor, tuple[Size, ...], tuple[int, ...]]:
    """What is compared as rows of a matrix, the rest of the shape of each, and the order of axes
    that undoes how they were moved."""
    if axis is None:
        return reshape(x, (x.size, 1)), (), (0,)
    where = axis_of(axis, x.ndim)
    moved = permute(x, (where, *(each for each in range(x.ndim) if each != where)))
    rest = moved.shape[1:]
    back = tuple(range(1, x.ndim))
    return reshape(moved, (moved.shape[0], product(rest))), rest, (*back[:where], 0, *back[where:])


def with_shape(found: Unique, rest: tuple[Size, ...], order: tuple[int, ...]) -> Unique:
    """The values as slices again."""
    rows = reshape(found.values, (found.values.shape[0], *rest))
    return found._replace(values=permute(rows, order) if rest else rows)


def lexicographic(rows: Tensor) -> Tensor:
    """The order of rows by their first elements, then by their second ones; equals keep theirs."""
    count, width = rows.shape
    number = iota(count, device=rows.device)
    if same(width, 0):
        return number
    return by_columns(rows, number) if rows.device == "cpu" else by_ranks(rows, number)


def by_columns(rows: Tensor, number: Tensor) -> Tensor:
    """The same by sorting for one column after the other, the last one first."""
    columns = flip(permute(rows, (1, 0)), 0)

    def iteration(at: Tensor, order: Tensor) -> tuple[None, list[Tensor], list[Tensor]]:
        keys = take(columns, [at, order])
        return None, [take(order, [argsort(keys)])], []

    return loop(iteration, [number], trips=columns.shape[0])[0][0]


def by_ranks(rows: Tensor, number: Tensor) -> Tensor:
    """The same by comparing each with each: they are independent of each other."""
    count, width = rows.shape
    one, other = reshape(rows, (count, 1, width)), reshape(rows, (1, count, width))
    decides = argmax(cast(not_equal(one, other), i64), 2)
    row, column = reshape(number, (count, 1)), reshape(number, (1, count))
    own, before = take(rows, [row, decides]), take(rows, [column, decides])
    ahead = logical_or(less(before, own), logical_and(equal(before, own), less(column, row)))
    rank = total(cast(ahead, i64), 1)
    return index_put(zeros((count,), i64, device=rows.device), [rank], number, distinct=True)


def grouped(rows: Tensor, places: Tensor | None = None) -> Unique:
    """Neighbours that are equal become one. `places` is where each row was before they were put in
    order, if they were."""
    count, device = rows.shape[0], rows.device
    differs = not_equal(rows, pad(rows, [(1, -1), (0, 0)]))
    single = same(rows.shape[1], 1)
    later = reshape(differs, (count,)) if single else any_of(differs, 1)
    new = logical_or(later, equal(iota(count, dtype=i32, device=device), 0))
    starts = flat_nonzero(new)
    after = pad(starts, [(-1, 1)])  # the last group, whose next one is none, ends at the end
    ends = where(equal(after, 0), size_value(count, i32, device=device), after)
    first, inverse = cast(starts, i64), subtract(cumsum(new, 0), 1)
    if places is not None:
        first = take(places, [starts])
        nothing = zeros((count,), i64, device=device)
        inverse = index_put(nothing, [places], inverse, distinct=True)
    return Unique(take(rows, [starts]), first, inverse, cast(subtract(ends, starts), i64))


def as_they_come(found: Unique) -> Unique:
    """The same in the order in which each is first."""
    order = argsort(found.first)
    place = index_put(
        zeros(order.shape, i64, device=order.device),
        [order],
        iota(order.shape[0], device=order.device),
        distinct=True,
    )
    values, first, counts = (
        take(each, [order]) for each in (found.values, found.first, found.counts)
    )
    return Unique(values, first, take(place, [found.inverse]), counts)
