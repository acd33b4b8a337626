"""TMA (sm_90): the copy engine moves boxes of tensors between global and shared memory.

Boxes are those of a tensor map (`tensor_map`, `im2col_map`); a `position` is where one begins: an
index for each axis of the tensor. What of a box lies outside of the tensor is filled by a load and
left alone by a store. One thread starts each copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted
from hidet.types import i32, u16


def tma_load(
    target: Any,
    tiles: Expr,
    position: Sequence[Value],
    barrier: Any,
    *,
    offsets: Sequence[Value] = (),
    multicast: Value | None = None,
    cache: str | None = None,
) -> None:
    """Start loading the box at `position` to `target`, an address in shared memory.

    All bytes of the box, clipped or not, count at `barrier`, an mbarrier. In im2col mode `offsets`
    are added to the pixels, one for each spatial axis. Bit i of `multicast` says that block i of
    the cluster gets the box too, at the same place, and its barrier there counts it. `cache` is
    "evict_first", "evict_last" or "evict_normal". PTX ISA: cp.async.bulk.tensor.
    """
    several = () if multicast is None else (converted(multicast, u16, "the mask of blocks"),)
    at = (*numbers(position, "a position"), *numbers(offsets, "an offset"))
    options = (multicast is not None, cache)
    invoke("tma_load", target, tiles, barrier, *at, *several, options=options)


def tma_store(
    tiles: Expr, position: Sequence[Value], source: Any, *, cache: str | None = None
) -> None:
    """Start storing a box from `source`, an address in shared memory, to `position`.

    It belongs to the thread's current bulk group. PTX ISA: cp.async.bulk.tensor.
    """
    invoke("tma_store", tiles, source, *numbers(position, "a position"), options=(cache,))


def tma_reduce(
    tiles: Expr,
    position: Sequence[Value],
    source: Any,
    how: str = "add",
    *,
    cache: str | None = None,
) -> None:
    """Start combining the box at `position` with one at `source`, an address in shared memory.

    `how` is "add", "min", "max", "and", "or" or "xor"; each element is updated atomically. It
    belongs to the thread's current bulk group. PTX ISA: cp.reduce.async.bulk.tensor.
    """
    invoke("tma_reduce", tiles, source, *numbers(position, "a position"), options=(how, cache))


def tma_prefetch(
    tiles: Expr,
    position: Sequence[Value],
    *,
    offsets: Sequence[Value] = (),
    cache: str | None = None,
) -> None:
    """Bring the box at `position` into the second cache. PTX ISA: cp.async.bulk.prefetch.tensor."""
    at = (*numbers(position, "a position"), *numbers(offsets, "an offset"))
    invoke("tma_prefetch", tiles, *at, options=(cache,))


def tma_prefetch_map(tiles: Expr) -> None:
    """Bring a tensor map to where the copy engine finds it fast. PTX ISA: prefetch.tensormap."""
    invoke("tma_prefetch_map", tiles)


def numbers(values: Sequence[Value], what: str) -> tuple[Expr, ...]:
    """Positions along several axes; one number is a position along one."""
    found = values if isinstance(values, tuple | list) else (values,)
    return tuple(converted(value, i32, what) for value in found)
