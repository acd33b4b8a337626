"""Copies from global to shared memory that run beside the thread (sm_80 and later)."""

from __future__ import annotations

from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted
from hidet.types import i32


def cp_async(target: Expr, source: Expr, size: int = 16, taken: Value | None = None) -> None:
    """Start a copy of `size` (4, 8 or 16) bytes; those beyond the first `taken` become zero.

    `target` and `source` are addresses of elements, as `~tile[i, j]`, aligned to `size`. The bytes
    are there after a wait, for other threads after a barrier too.
    """
    rest = () if taken is None else (converted(taken, i32, "the number of bytes"),)
    invoke("cp_async", target, source, *rest, options=(size,))


def store_async(target: Expr, value: Value) -> None:
    """Store a value at the address of an element, perhaps by a copy that runs beside the thread.

    In a `vectorize` loop that only moves neighbours (from `x.get(...)`, say) it becomes `cp_async`,
    what lies outside zero; what is computed on the way is stored at once. Either way the value is
    there after a wait.
    """
    invoke("store_async", target, converted(value, target.dtype, "the element"))


def cp_async_commit_group() -> None:
    """Make the thread's copies since the last commit one group."""
    invoke("cp_async_commit_group")


def cp_async_wait_group(pending: int) -> None:
    """Wait until at most `pending` of the thread's groups are under way."""
    invoke("cp_async_wait_group", options=(pending,))


def cp_async_wait_all() -> None:
    """Wait for all of the thread's copies."""
    invoke("cp_async_wait_all")


def cp_async_mbarrier_arrive(barrier: Expr) -> None:
    """The current phase of an mbarrier completes only after the thread's copies so far."""
    invoke("cp_async_mbarrier_arrive", barrier)


def cp_async_mbarrier_arrive_noinc(barrier: Expr) -> None:
    """When the thread's copies so far are complete, that is an arrival at an mbarrier."""
    invoke("cp_async_mbarrier_arrive_noinc", barrier)
