"""Threads that meet, and the order in which they see one another's accesses."""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted, plain, truth
from hidet.types import boolean, i32, u32


def syncthreads() -> None:
    """All threads of the block meet, and see each other's writes."""
    invoke("syncthreads")


def syncthreads_count(condition: Value) -> Any:
    """As `syncthreads`; in how many threads of the block `condition` holds."""
    return invoke("syncthreads_count", truth(condition), results=(i32,))


def syncthreads_and(condition: Value) -> Any:
    """As `syncthreads`; whether `condition` holds in all threads of the block."""
    return invoke("syncthreads_and", truth(condition), results=(boolean,))


def syncthreads_or(condition: Value) -> Any:
    """As `syncthreads`; whether `condition` holds in any thread of the block."""
    return invoke("syncthreads_or", truth(condition), results=(boolean,))


def syncwarp(mask: Value | None = None) -> None:
    """The lanes of the warp meet, and see each other's writes: all, or those in `mask`."""
    given = () if mask is None else (converted(mask, u32, "the mask"),)
    invoke("syncwarp", *given)


def barrier_sync(number: Value, threads: Value) -> None:
    """`threads` threads, in whole warps, meet at barrier `number` (1 to 15)."""
    named("barrier_sync", number, threads)


def barrier_arrive(number: Value, threads: Value) -> None:
    """Arrive at barrier `number` (1 to 15), where `threads` threads meet, without waiting."""
    named("barrier_arrive", number, threads)


def threadfence(scope: str = "gpu") -> None:
    """This thread's earlier accesses come before later ones, for "block", "gpu" or "sys"."""
    invoke("threadfence", options=(scope,))


def fence(order: str = "acq_rel", scope: str = "gpu") -> None:
    """As `threadfence`, only as strong as asked: "acq_rel" or "sc"; also for a "cluster"."""
    invoke("fence", options=(order, scope))


def named(name: str, number: Value, threads: Value) -> None:
    """The call of a named barrier: with options if both numbers are known, else with operands."""
    given = plain(number), plain(threads)
    if all(isinstance(each, int) for each in given):
        invoke(name, options=given)
        return
    invoke(name, converted(number, i32, "the barrier"), converted(threads, i32, "the threads"))
