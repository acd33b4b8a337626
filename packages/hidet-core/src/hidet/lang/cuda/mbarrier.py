"""mbarriers, at which threads and asynchronous copies meet, and the fences they need.

A barrier is an element of a shared tensor of u64; its address is `~bars[i]` (or the tensor itself,
for its first element). A wait names a phase by its parity: 0 for the first phase, then 1, 0, ...
"""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted
from hidet.types import boolean, u32, u64


def mbarrier_init(barrier: Expr, count: Value) -> None:
    """Make 8 bytes of shared memory an mbarrier whose phases expect `count` arrivals."""
    invoke("mbarrier_init", barrier, converted(count, u32, "the number of arrivals"))


def mbarrier_inval(barrier: Expr) -> None:
    """Make an mbarrier ordinary memory again."""
    invoke("mbarrier_inval", barrier)


def fence_mbarrier_init() -> None:
    """Show this thread's `mbarrier_init` to asynchronous operations and to the cluster."""
    invoke("fence_mbarrier_init")


def mbarrier_arrive(barrier: Expr, count: Value = 1) -> Any:
    """Arrive `count` times; a state (u64) for `mbarrier_wait_state`."""
    number = converted(count, u32, "the number of arrivals")
    return invoke("mbarrier_arrive", barrier, number, results=(u64,))


def mbarrier_arrive_expect_tx(barrier: Expr, nbytes: Value) -> Any:
    """Let the phase expect `nbytes` bytes, and arrive once; a state as of `mbarrier_arrive`."""
    number = converted(nbytes, u32, "the number of bytes")
    return invoke("mbarrier_arrive_expect_tx", barrier, number, results=(u64,))


def mbarrier_expect_tx(barrier: Expr, nbytes: Value) -> None:
    """Let the phase expect `nbytes` bytes that asynchronous copies deliver."""
    invoke("mbarrier_expect_tx", barrier, converted(nbytes, u32, "the number of bytes"))


def mbarrier_test_wait(barrier: Expr, parity: Value) -> Any:
    """Whether the phase of that parity has completed."""
    return look("mbarrier_test_wait", barrier, parity)


def mbarrier_try_wait(barrier: Expr, parity: Value) -> Any:
    """Whether the phase of that parity has completed, looking for some time."""
    return look("mbarrier_try_wait", barrier, parity)


def mbarrier_wait(barrier: Expr, parity: Value) -> None:
    """Wait until the phase of that parity has completed."""
    invoke("mbarrier_wait", barrier, converted(parity, u32, "the parity"), options=("parity",))


def mbarrier_wait_state(barrier: Expr, state: Value) -> None:
    """Wait until the phase has completed in which an arrival gave `state`."""
    invoke("mbarrier_wait", barrier, converted(state, u64, "the state"), options=("state",))


def fence_proxy_async(where: str = "all") -> None:
    """Show accesses so far to "shared::cta", "global" or "all" to asynchronous operations."""
    invoke("fence_proxy_async", options=(where,))


def look(name: str, barrier: Expr, parity: Value) -> Any:
    """The call of a test."""
    number = converted(parity, u32, "the parity")
    return invoke(name, barrier, number, results=(boolean,), options=("parity",))
