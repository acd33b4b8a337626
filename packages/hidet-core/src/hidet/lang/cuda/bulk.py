"""Copies of many bytes that one thread starts; sizes and addresses are multiples of 16 bytes."""

from __future__ import annotations

from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted
from hidet.types import u16, u32


def cp_async_bulk_load(
    target: Expr,
    source: Expr,
    nbytes: Value,
    barrier: Expr,
    *,
    multicast: Value | None = None,
    cache: str | None = None,
) -> None:
    """Start copying `nbytes` bytes from global to shared memory; they arrive at an mbarrier.

    Bit i of `multicast` says that block i of the cluster gets them too, at the same place, and its
    barrier there counts them. `cache` is "evict_first", "evict_last" or "evict_normal".
    """
    several = () if multicast is None else (converted(multicast, u16, "the mask of blocks"),)
    options = (multicast is not None, cache)
    invoke("cp_async_bulk_load", target, source, size(nbytes), barrier, *several, options=options)


def cp_async_bulk_store(
    target: Expr, source: Expr, nbytes: Value, *, cache: str | None = None
) -> None:
    """Start copying `nbytes` bytes from shared to global memory; it completes with a bulk group."""
    invoke("cp_async_bulk_store", target, source, size(nbytes), options=(cache,))


def cp_async_bulk_reduce(
    target: Expr, source: Expr, nbytes: Value, how: str = "add", *, cache: str | None = None
) -> None:
    """Start combining `nbytes` bytes of shared memory with global memory, in a bulk group.

    `how` is "add", "min", "max", "and", "or" or "xor"; each element is updated atomically.
    """
    invoke("cp_async_bulk_reduce", target, source, size(nbytes), options=(how, cache))


def cp_async_bulk_send(
    target: Expr, source: Expr, nbytes: Value, barrier: Expr, block: Value
) -> None:
    """Start copying to the shared memory of block `block` of the cluster.

    `target` and `barrier` are the block's own addresses of the same places as there.
    """
    where = converted(block, u32, "the block")
    invoke("cp_async_bulk_send", target, source, size(nbytes), barrier, where)


def cp_async_bulk_send_reduce(
    target: Expr, source: Expr, nbytes: Value, barrier: Expr, block: Value, how: str = "add"
) -> None:
    """As `cp_async_bulk_send`, combining elements atomically with those that are there."""
    where = converted(block, u32, "the block")
    operands = target, source, size(nbytes), barrier, where
    invoke("cp_async_bulk_send_reduce", *operands, options=(how,))


def cp_async_bulk_prefetch(source: Expr, nbytes: Value, *, cache: str | None = None) -> None:
    """Bring `nbytes` bytes of global memory into the L2 cache."""
    invoke("cp_async_bulk_prefetch", source, size(nbytes), options=(cache,))


def cp_async_bulk_commit_group() -> None:
    """This thread's bulk stores since its last commit are one group."""
    invoke("cp_async_bulk_commit_group")


def cp_async_bulk_wait_group(pending: int = 0, read: bool = False) -> None:
    """Wait until at most `pending` groups are left; with `read`, until the others were read."""
    invoke("cp_async_bulk_wait_group", options=(pending, read))


def size(nbytes: Value) -> Expr:
    """A number of bytes."""
    return converted(nbytes, u32, "the number of bytes")
