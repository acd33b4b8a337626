"""What concerns time rather than values: dependent launches, clocks, prefetching, stopping."""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke
from hidet.lang.values import converted
from hidet.types import i64, u32, u64


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


def clock64() -> Any:
    """The same as `clock`."""
    return invoke("clock64", results=(i64,))


def clock32() -> Any:
    """The low 32 bits of `clock`, u32; cheaper to read."""
    return invoke("clock32", results=(u32,))


def globaltimer() -> Any:
    """Nanoseconds of a clock that all multiprocessors share, u64."""
    return invoke("globaltimer", results=(u64,))


def nanosleep(nanoseconds: Value) -> None:
    """Let the thread rest for about so many nanoseconds, at most a millisecond."""
    invoke("nanosleep", converted(nanoseconds, u32, "the time"))


def trap() -> None:
    """Stop the kernel with an error."""
    invoke("trap")


def breakpoint(**values: Value | Expr) -> None:
    """Stop in Python's debugger when simulated, with `values` to look at; nothing on a device.

    Python's own `breakpoint()` in a script does this with all of the script's variables.
    """
    invoke("breakpoint", *values.values(), options=tuple(values))
