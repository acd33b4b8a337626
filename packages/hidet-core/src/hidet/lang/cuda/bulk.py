"""Copies of many bytes that one thread starts; sizes and addresses are multiples of 16 bytes."""

from __future__ import annotations

from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted
from hidet.types import u32


def cp_async_bulk_load(target: Expr, source: Expr, nbytes: Value, barrier: Expr) -> None:
    """Start copying `nbytes` bytes from global to shared memory; they arrive at an mbarrier."""
    invoke("cp_async_bulk_load", target, source, size(nbytes), barrier)


def cp_async_bulk_store(target: Expr, source: Expr, nbytes: Value) -> None:
    """Start copying `nbytes` bytes from shared to global memory; it completes with a bulk group."""
    invoke("cp_async_bulk_store", target, source, size(nbytes))


def cp_async_bulk_prefetch(source: Expr, nbytes: Value) -> None:
    """Bring `nbytes` bytes of global memory into the L2 cache."""
    invoke("cp_async_bulk_prefetch", source, size(nbytes))


def cp_async_bulk_commit_group() -> None:
    """This thread's bulk stores since its last commit are one group."""
    invoke("cp_async_bulk_commit_group")


def cp_async_bulk_wait_group(pending: int = 0, read: bool = False) -> None:
    """Wait until at most `pending` groups are left; with `read`, until the others were read."""
    invoke("cp_async_bulk_wait_group", options=(pending, read))


def size(nbytes: Value) -> Expr:
    """A number of bytes."""
    return converted(nbytes, u32, "the number of bytes")
