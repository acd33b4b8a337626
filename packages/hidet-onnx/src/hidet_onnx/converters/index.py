"""Elements at positions that are data: lookups and writes; negative ones count from the end."""

from __future__ import annotations

from typing import Literal

from hidet import ops
from hidet.errors import BadArgument
from hidet.frontend.importing.operands import size_of
from hidet.graph import Tensor
from hidet.graph.known import known
from hidet.types import Size, i64
from hidet_onnx.converters.table import onnx

Rule = Literal["set_last", "add", "mul", "min", "max"]
RULES: dict[str, Rule] = {
    "none": "set_last", "add": "add", "mul": "mul", "min": "min", "max": "max",
}  # fmt: skip


def rule_of(reduction: str) -> Rule:
    """How an element is put where another one is."""
    if reduction not in RULES:
        raise BadArgument(f"there is no reduction {reduction!r}", help=f"use {', '.join(RULES)}")
    return RULES[reduction]


def from_start(index: Tensor, size: Size) -> Tensor:
    """Positions along an axis of this size, none of them negative."""
    require_inside(index, size)
    wide = ops.cast(index, i64)
    return ops.where(ops.less(wide, 0), ops.add(wide, size), wide)


def require_inside(index: Tensor, size: Size) -> None:
    """Raise BadArgument for constant positions outside of an axis: kernels would read zeros."""
    if not isinstance(size, int):
        return
    if index.storage is not None:
        found = index.cpu().numpy().reshape(-1)
        places = [int(found.min()), int(found.max())] if found.size else []
    else:
        elements = known(index)
        places = [] if elements is None else [n for n in elements.flat if isinstance(n, int)]
    if places and (min(places) < -size or max(places) >= size):
        raise BadArgument(f"positions from {min(places)} to {max(places)} of an axis of {size}")


@onnx("Gather", since=1)
def gather(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
    """x[..., index, ...] along an axis."""
    where = axis + x.ndim if axis < 0 else axis
    require_inside(index, x.shape[where])
    return ops.take(x, [*[None] * where, index])


@onnx("GatherElements", since=11)
def gather_elements(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
    """For each element of `index` the element of x there along an axis."""
    return ops.gather(x, axis, from_start(index, x.shape[axis]))


@onnx("GatherND", since=11)
def gather_nd(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Tensor:
    """The parts of x whose leading positions are the last axis of `index`."""
    return ops.gather_nd(x, index, batch_axes=batch_dims)


@onnx("ScatterElements", since=11)
def scatter_elements(
    x: Tensor, index: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """x with each update put, or combined with what is there, at `index` along an axis."""
    return ops.scatter(x, axis, from_start(index, x.shape[axis]), updates, rule_of(reduction))


@onnx("Scatter", since=9)
def scatter(x: Tensor, index: Tensor, updates: Tensor, *, axis: int = 0) -> Tensor:
    """x with each update put at `index` along an axis."""
    return scatter_elements(x, index, updates, axis=axis)


@onnx("ScatterND", since=11)
def scatter_nd(x: Tensor, index: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    """x with updates put, or combined, where the last axis of `index` says."""
    rule = rule_of(reduction)
    return ops.scatter_nd(x, index, updates, "set" if rule == "set_last" else rule)


@onnx("TopK", since=11)
def top_k(
    x: Tensor, k: Tensor, *, axis: int = -1, largest: int = 1, sorted: int = 1
) -> tuple[Tensor, Tensor]:
    """The first k elements along an axis in order of size, and where they are."""
    count = size_of(k, x.shape[axis] if x.ndim else 1)
    return ops.topk(x, count, axis, largest=bool(largest))


@onnx("TopK", since=10)
def top_k_before_11(x: Tensor, k: Tensor, *, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The k largest elements along an axis."""
    return top_k(x, k, axis=axis)


@onnx("TopK", since=1)
def top_k_before_10(x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The k largest elements along an axis."""
    return ops.topk(x, k, axis)


@onnx("OneHot", since=9)
def one_hot(index: Tensor, depth: Tensor, values: Tensor, *, axis: int = -1) -> Tensor:
    """A new axis with the second of `values` at the index and the first one elsewhere."""
    classes = size_of(depth if depth.dtype.is_integer else ops.cast(depth, i64))
    where = axis % (index.ndim + 1)
    along = [1] * (index.ndim + 1)
    along[where] = -1
    place = ops.reshape(ops.iota(classes, device=index.device), along)
    found = ops.equal(ops.unsqueeze(from_start(index, classes), where), place)
    return ops.where(found, ops.select(values, 0, 1), ops.select(values, 0, 0))


@onnx("TensorScatter", since=24)
def tensor_scatter(
    cache: Tensor, update: Tensor, start: Tensor | None = None, *, axis: int = -2,
    mode: str = "linear",
) -> Tensor:  # fmt: skip
    """A cache with an update written along an axis from each sample's position on."""
    if mode not in ("linear", "circular"):
        raise BadArgument(f"TensorScatter has no mode {mode!r}", help="use linear or circular")
    return ops.tensor_scatter(cache, update, start, axis=axis, circular=mode == "circular")
