"""Elements in order of size, and places within what is in order."""

from __future__ import annotations

from collections.abc import Callable

from hidet import ops
from hidet.graph import Tensor
from hidet.types import boolean, i32
from hidet_torch.converters.elementwise import Operand
from hidet_torch.converters.table import aten, require, torch
from hidet_torch.memory.dtypes import result_type, wide

MOST = 4096
"""Elements that a GPU puts in order by comparing each with each, and of which a CPU finds one by
sorting: of more of them PyTorch is faster."""
FEW_BINS = 8
"""Pieces of a histogram up to which a CPU compares each element with each of them."""


def require_few(x: Tensor, axis: int) -> None:
    """Leave long axes, and axes of unknown size, to PyTorch."""
    size = x.shape[axis] if x.ndim else 1
    require(isinstance(size, int) and size <= MOST, f"the order of more than {MOST} elements")


def require_few_on_gpus(x: Tensor, axis: int) -> None:
    """The same but for CPUs, which sort any number of elements digit by digit."""
    if x.device != "cpu":
        require_few(x, axis)


@torch(aten.sort.default)
def sort(x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements in order, and where they were. PyTorch has an order of equals of its own in long
    rows, which stay with it."""
    require_few(x, axis)
    return ops.sort(x, axis, descending=descending)


@torch(aten.sort.stable)
def sort_stable(
    x: Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:
    """The elements in order, equals as they were if so asked, and where they were."""
    if not stable:
        return sort(x, dim, descending)
    require_few_on_gpus(x, dim)
    return ops.sort(x, dim, descending=descending)


@torch(aten.topk.default)
def topk(
    x: Tensor, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The first few in order, and where they were."""
    require_few_on_gpus(x, axis)
    return ops.topk(x, k, axis, largest=largest)


@torch(aten.cummax.default)
def cummax(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The greatest so far, and where."""
    return ops.cummax(x, axis)


@torch(aten.cummin.default)
def cummin(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The least so far, and where."""
    return ops.cummin(x, axis)


def numbered(found: Tensor, int32: bool) -> Tensor:
    """Places in the type asked for."""
    return ops.cast(found, i32) if int32 else found


@torch(aten.searchsorted.Tensor)
def searchsorted(
    ordered: Tensor,
    values: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values belong in the ascending last axis of a tensor."""
    if sorter is not None:
        ordered = ops.gather(ordered, axis=-1, index=sorter)
    after = right or side == "right"
    return numbered(ops.searchsorted(ordered, values, right=after), out_int32)


@torch(aten.bucketize.Tensor)
def bucketize(
    values: Tensor, edges: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """Between which edges values lie."""
    return numbered(ops.searchsorted(edges, values, right=right), out_int32)


@torch(aten.histc.default)
def histc(x: Tensor, bins: int = 100, low: float = 0, high: float = 0) -> Tensor:
    """How many elements lie in each of equal pieces of a range; the last one has both ends."""
    require(low != high, "a histogram over the range of its data")
    flat = ops.cast(ops.reshape(x, (-1,)), wide(x.dtype))
    scaled = ops.multiply(ops.subtract(flat, low), bins / (high - low))
    piece = ops.minimum(ops.floor(scaled), bins - 1)
    within = ops.logical_and(ops.greater_equal(flat, low), ops.less_equal(flat, high))
    counted = by_adding if x.device == "cpu" and bins > FEW_BINS else by_comparing
    return ops.cast(counted(ops.where(within, piece, -1), bins), x.dtype)


def by_adding(piece: Tensor, bins: int) -> Tensor:
    """How often each number is there: one is added for each element where its count lies."""
    place = ops.cast(piece, i32)
    nothing = ops.zeros((bins,), i32, device=piece.device)
    one = ops.cast(ops.greater_equal(place, 0), i32)
    return ops.index_put(nothing, [ops.maximum(place, 0)], one, accumulate=True)


def by_comparing(piece: Tensor, bins: int) -> Tensor:
    """How often each number is there: all elements are compared with each number, in vectors on
    CPUs, by many threads on GPUs."""
    numbers = ops.arange(0, bins, dtype=piece.dtype, device=piece.device)
    return ops.sum(ops.cast(ops.equal(ops.unsqueeze(piece, 1), numbers), i32), 0, dtype=i32)


def is_among(
    values: Operand, tests: Operand, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each value is one of the tests."""
    of = result_type(values, tests)
    if isinstance(values, Tensor) and isinstance(tests, Tensor):
        wide = ops.reshape(values, (*values.shape, 1))
        found = ops.any(ops.equal(wide, ops.reshape(tests, (-1,)), dtype=of), -1)
    else:
        found = ops.equal(values, tests, dtype=of)
        found = found if isinstance(values, Tensor) else ops.any(found)
    return ops.logical_not(found) if invert else found


torch(aten.isin.Tensor_Tensor, aten.isin.Tensor_Scalar, aten.isin.Scalar_Tensor)(is_among)


# ---- combining at positions --------------------------------------------------------------------

RULES = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}


@torch(aten.scatter_reduce.two)
def scatter_reduce(
    x: Tensor, axis: int, where: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """x combined with the elements of a source at positions, or replaced by what these make."""
    require(x.ndim > 0, "scattering into a number")
    rule = RULES[reduce]
    for axis_, size in enumerate(where.shape):
        source = ops.slice(source, axis_, 0, size)
    base = x if include_self else at(x, axis, where, neutral(x, rule), "set_last")
    found = at(base, axis, where, source, rule)
    if reduce != "mean":
        return found
    one = ops.full(x.shape, 1, x.dtype, device=x.device)
    ones = ops.full(where.shape, 1, x.dtype, device=x.device)
    start = one if include_self else at(one, axis, where, 0, "set_last")
    count = at(start, axis, where, ones, "add")
    divide: Callable[..., Tensor] = ops.divide if x.dtype.is_float else ops.floor_divide
    return divide(found, count)


def at(x: Tensor, axis: int, where: Tensor, source: Tensor | float, rule: str) -> Tensor:
    """x with a source, or a number, put or combined at positions."""
    if not isinstance(source, Tensor):
        source = ops.full(where.shape, source, x.dtype, device=x.device)
    return ops.scatter(x, axis, where, ops.cast(source, x.dtype), rule)  # type: ignore[arg-type]


def neutral(x: Tensor, rule: str) -> float:
    """The number that changes nothing when combined by a rule."""
    if rule in ("add", "mul"):
        return 0 if rule == "add" else 1
    if x.dtype.is_float:
        return float("-inf") if rule == "max" else float("inf")
    if x.dtype is boolean:
        return rule == "min"
    low, high = x.dtype.limits
    return low if rule == "max" else high
