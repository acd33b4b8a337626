"""Reading and writing at positions in several axes: the last axis of an index is one position."""

from __future__ import annotations

from typing import Literal

from hidet.compute.sizes import product, same, tidy
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Tensor
from hidet.graph.dims import axis_of
from hidet.ops.elementwise.compare import equal, less
from hidet.ops.elementwise.select import where
from hidet.ops.indexing.index import take
from hidet.ops.indexing.scatter import index_put, scatter
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota, zeros
from hidet.ops.tensors.shape import expand, reshape, unsqueeze
from hidet.ops.tensors.slicing import select
from hidet.types import i64

Combine = Literal["set", "add", "mul", "min", "max"]


def gather_nd(x: Tensor, indices: Tensor, *, batch_axes: int = 0) -> Tensor:
    """x[b..., *indices[b..., o..., :], ...]: [b..., o..., rest of x]; negatives count from the end.

    The first `batch_axes` axes are those of both. Source: ONNX GatherND-13.
    """
    columns = columns_of(indices)
    if not batch_axes < indices.ndim or batch_axes + len(columns) > x.ndim:
        raise ShapeMismatch(f"{batch_axes} batch axes and {len(columns)} positions in {x.type}")
    rank = indices.ndim - 1
    batch = [
        reshape(
            iota(x.shape[axis], device=x.device),
            tuple(x.shape[axis] if each == axis else 1 for each in range(rank)),
        )
        for axis in range(batch_axes)
    ]
    return take(x, [*batch, *columns])


def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, how: Combine = "set") -> Tensor:
    """`x` with updates[o..., rest of x] set, added, ... at x[*indices[o..., :]].

    Of several for one place "set" keeps the last one. Source: ONNX ScatterND-18.
    """
    columns = columns_of(indices)
    if len(columns) > x.ndim:
        raise ShapeMismatch(f"{len(columns)} positions in {x.type}")
    if how in ("set", "add"):
        return index_put(x, columns, updates, accumulate=how == "add")
    if how not in ("mul", "min", "max"):
        raise BadArgument(f"there is no way {how!r} to scatter")
    return combined(x, columns, updates, how)


def combined(
    x: Tensor, columns: list[Tensor], updates: Tensor, how: Literal["mul", "min", "max"]
) -> Tensor:
    """`scatter_nd` along one axis: that of all indexed ones in a row."""
    outer, rest = x.shape[: len(columns)], x.shape[len(columns) :]
    place = zeros((), i64, device=x.device)
    for size, column in zip(outer, columns, strict=True):
        wide = cast(column, i64)
        place = place * size + where(less(wide, 0), wide + size, wide)
    count, width = product(columns[0].shape), product(rest)
    flat = expand(reshape(place, (count, 1)), (count, width))
    rows = reshape(x, (product(outer), width))
    return reshape(scatter(rows, 0, flat, reshape(updates, (count, width)), how), x.shape)


def columns_of(indices: Tensor) -> list[Tensor]:
    """The positions along each indexed axis."""
    count = indices.shape[-1] if indices.ndim else 0
    if not isinstance(count, int) or count < 1:
        raise ShapeMismatch(
            "the last axis of indices is of a known size: one for each indexed axis"
        )
    return [select(indices, -1, number) for number in range(count)]


def one_hot_values(index: Tensor, classes: int, values: Tensor, axis: int = -1) -> Tensor:
    """A new axis of size `classes` at `axis` with values[1] at the index and values[0] elsewhere.

    Negative indices count from the end; outside of the range there is no values[1]. The index may
    be of any type of numbers; the result is of the values' type. Source: ONNX OneHot-11.
    """
    where_ = axis_of(axis, index.ndim + 1)
    wide = cast(index, i64)
    held = unsqueeze(where(less(wide, 0), wide + classes, wide), where_)
    shape = tuple(classes if each == where_ else 1 for each in range(index.ndim + 1))
    place = reshape(iota(classes, device=index.device), shape)
    return where(equal(held, place), select(values, 0, 1), select(values, 0, 0))


def tensor_scatter(
    cache: Tensor, update: Tensor, start: Tensor | None = None, *, axis: int = -2,
    circular: bool = False,
) -> Tensor:  # fmt: skip
    """`cache` with `update` written along `axis` from start[batch] on (None: from 0 on).

    Axis 0 is the batch. `circular` goes on at the front where the end is reached; else all must
    fit. Source: ONNX TensorScatter-24.
    """
    where_ = axis_of(axis, cache.ndim)
    if where_ == 0 or update.ndim != cache.ndim:
        raise ShapeMismatch("tensor_scatter writes along another axis than that of the batch")
    for each in range(cache.ndim):
        if each != where_ and same(cache.shape[each], update.shape[each]) is False:
            raise ShapeMismatch(f"an update {update.type} does not fit {cache.type}")
    place = iota(update.shape[where_], device=cache.device)
    place = reshape(place, tuple(-1 if a == where_ else 1 for a in range(cache.ndim)))
    if start is not None:
        place = place + reshape(cast(start, i64), (-1, *(1,) * (cache.ndim - 1)))
    if circular:
        place = place % tidy(cache.shape[where_])
    return scatter(cache, where_, expand(place, update.shape), update, "set_one")
