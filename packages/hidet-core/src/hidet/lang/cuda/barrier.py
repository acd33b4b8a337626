"""Threads that meet, and the order in which they see one another's accesses."""

from __future__ import annotations

from hidet.lang.cuda.invoke import invoke


def syncthreads() -> None:
    """All threads of the block meet, and see each other's writes."""
    invoke("syncthreads")


def syncwarp() -> None:
    """All lanes of the warp meet, and see each other's writes."""
    invoke("syncwarp")


def barrier_sync(number: int, threads: int) -> None:
    """`threads` threads, in whole warps, meet at barrier `number` (1 to 15)."""
    invoke("barrier_sync", options=(number, threads))


def barrier_arrive(number: int, threads: int) -> None:
    """Arrive at barrier `number` (1 to 15), where `threads` threads meet, without waiting."""
    invoke("barrier_arrive", options=(number, threads))


def threadfence(scope: str = "gpu") -> None:
    """This thread's earlier accesses come before later ones, for the "block" or the "gpu"."""
    invoke("threadfence", options=(scope,))
