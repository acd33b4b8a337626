"""Elements at positions that are data: lookups and writes."""

from __future__ import annotations

from typing import Literal

from hidet import ops
from hidet.errors import NeedsValue, NotYet
from hidet.frontend.importing.operands import integer, integers, size_of, sizes_of
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_tf.converters.table import tf

Rule = Literal["set", "add", "min", "max"]


@tf("Gather")
def gather_rows(x: Tensor, index: Tensor) -> Tensor:
    """x[index, ...]."""
    return ops.take(x, [index])


@tf("GatherV2")
def gather(x: Tensor, index: Tensor, axis: Tensor, *, batch_dims: int) -> Tensor:
    """x[..., index, ...] along an axis; the first `batch_dims` axes are common to both."""
    along, batch = integer(axis) % x.ndim, batch_dims % (index.ndim + 1)
    if batch == 0:
        return ops.take(x, [*[None] * along, index])
    order = [*range(batch), along, *(each for each in range(batch, x.ndim) if each != along)]
    there = ops.gather_nd(ops.permute(x, order), ops.unsqueeze(index, -1), batch_axes=batch)
    # [batch..., index..., between..., after...] with what lies between before the index again.
    picked, between = index.ndim - batch, along - batch
    first = range(batch + picked, batch + picked + between)
    rest = range(batch + picked + between, there.ndim)
    return ops.permute(there, (*range(batch), *first, *range(batch, batch + picked), *rest))


def require_errors(policy: str) -> None:
    """Raise NotYet where positions outside of a tensor are to be passed over."""
    if policy not in ("", "ERROR", "DEFAULT"):
        raise NotYet(f"bad_indices_policy={policy!r}")


@tf("GatherNd")
def gather_nd(x: Tensor, index: Tensor, *, bad_indices_policy: str = "") -> Tensor:
    """The parts of x whose leading positions are the last axis of `index`."""
    require_errors(bad_indices_policy)
    return ops.gather_nd(x, index)


@tf("ScatterNd")
def scatter_nd(
    index: Tensor, updates: Tensor, shape: Tensor, *, bad_indices_policy: str = ""
) -> Tensor:
    """Zeros with updates added where the last axis of `index` says."""
    require_errors(bad_indices_policy)
    zeros = ops.zeros(sizes_of(shape), updates.dtype, device=updates.device)
    return ops.scatter_nd(zeros, index, updates, "add")


def tensor_scatter(name: str, rule: Rule) -> None:
    """File an operator that combines updates with what is in a tensor."""

    def convert(
        x: Tensor, index: Tensor, updates: Tensor, *, bad_indices_policy: str = ""
    ) -> Tensor:
        require_errors(bad_indices_policy)
        return ops.scatter_nd(x, index, updates, rule)

    convert.__name__, convert.__doc__ = name.lower(), f"{name} at the last axis of `index`."
    tf(name)(convert)


tensor_scatter("TensorScatterUpdate", "set")
tensor_scatter("TensorScatterAdd", "add")
tensor_scatter("TensorScatterMin", "min")
tensor_scatter("TensorScatterMax", "max")


@tf("TensorScatterSub")
def tensor_scatter_sub(
    x: Tensor, index: Tensor, updates: Tensor, *, bad_indices_policy: str = ""
) -> Tensor:
    """x less updates where the last axis of `index` says."""
    require_errors(bad_indices_policy)
    return ops.scatter_nd(x, index, ops.negative(updates), "add")


@tf("OneHot")
def one_hot(index: Tensor, depth: Tensor, on: Tensor, off: Tensor, *, axis: int) -> Tensor:
    """A new axis with `on` at the index and `off` elsewhere, throughout if it is outside."""
    where = axis % (index.ndim + 1)
    along = [1] * (index.ndim + 1)
    along[where] = -1
    place = ops.reshape(ops.iota(size_of(depth), dtype=index.dtype, device=index.device), along)
    return ops.where(ops.equal(ops.unsqueeze(index, where), place), on, off)


@tf("InvertPermutation")
def invert_permutation(x: Tensor) -> Tensor:
    """Where each number is."""
    places = ops.iota(x.shape[0], dtype=x.dtype, device=x.device)
    return ops.scatter(ops.zeros_like(x), 0, ops.cast(x, i64), places)


@tf("UnravelIndex")
def unravel_index(index: Tensor, sizes: Tensor) -> Tensor:
    """[axes, ...]: the positions along each axis of places in a flattened tensor."""
    found, rest = [], index
    for size in reversed(sizes_of(sizes)):
        found.append(ops.remainder(rest, size))
        rest = ops.floor_divide(rest, size)
    return ops.cast(ops.stack(found[::-1]), index.dtype)


@tf("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(indices: list[Tensor], parts: list[Tensor]) -> Tensor:
    """The slices of several tensors, each put at its number; the last of several wins."""
    index = ops.concat([ops.reshape(each, (-1,)) for each in indices])
    rest = parts[0].shape[indices[0].ndim :]
    rows = ops.concat([ops.reshape(each, (-1, *rest)) for each in parts])
    try:
        count: Size = max(integers(index), default=-1) + 1
    except NeedsValue:
        count = ops.size_from(ops.add(ops.max(ops.cast(index, i64)), 1), "stitched")
    wide = ops.expand(ops.reshape(ops.cast(index, i64), (-1, *(1,) * len(rest))), rows.shape)
    return ops.scatter(ops.zeros((count, *rest), rows.dtype, device=rows.device), 0, wide, rows)


@tf("SparseToDense")
def sparse_to_dense(index: Tensor, shape: Tensor, values: Tensor, default: Tensor) -> Tensor:
    """A tensor with values at positions, one for each row of `index`, and a default elsewhere."""
    sizes = sizes_of(shape)
    rows = ops.reshape(index, (-1, len(sizes)))
    updates = ops.expand(values, rows.shape[:1])
    return ops.scatter_nd(ops.expand(default, sizes), rows, updates)
