"""What concerns time rather than values: dependent launches, the clock, prefetching."""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Expr
from hidet.lang.cuda.invoke import invoke
from hidet.types import i64


def griddepcontrol_wait() -> None:
    """Wait until the kernels before this one are complete and their writes visible."""
    invoke("griddepcontrol_wait")


def griddepcontrol_launch_dependents() -> None:
    """Let the kernels after this one begin."""
    invoke("griddepcontrol_launch_dependents")


def clock() -> Any:
    """A counter of cycles of this multiprocessor, i64."""
    return invoke("clock", results=(i64,))


def prefetch(pointer: Expr, cache: str = "L2") -> None:
    """Bring the line at a global address into cache "L1" or "L2"."""
    invoke("prefetch", pointer, options=(cache,))
