"""Loads and stores that say how they are cached, or how they order other accesses.

`pointer` is the address of the first element, as `~a[i, j]`. Up to 16 bytes move at once: with
`lanes`, a load gives a vector. `scope` is the threads among which an access orders: "block",
"cluster", "gpu" or "sys".
"""

from __future__ import annotations

from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke, operand
from hidet.lang.memory import stored
from hidet.lang.values import is_pointer, spoken
from hidet.types import Type, VectorType


def load_global(
    pointer: Expr,
    lanes: int = 1,
    *,
    cache: str = "",
    l1: str = "",
    l2: str = "",
    constant: bool = False,
) -> Any:
    """Load from global memory.

    `cache` is an operator, "ca", "cg", "cs", "lu" or "cv"; instead, `l1` ("evict_normal",
    "evict_unchanged", "evict_first", "evict_last", "no_allocate") and `l2` ("evict_first",
    "evict_last", "evict_unchanged") say what to keep. `constant` promises that the kernel never
    writes there (`ld.global.nc`).
    """
    return loaded("load_global", pointer, lanes, (cache, l1, l2, constant))


def store_global(
    pointer: Expr, value: Value, *, cache: str = "", l1: str = "", l2: str = ""
) -> None:
    """Store to global memory; `cache` is "wb", "cg", "cs" or "wt", `l1` and `l2` as of a load."""
    save("store_global", pointer, value, (cache, l1, l2))


def load_relaxed(pointer: Expr, lanes: int = 1, *, scope: str = "gpu") -> Any:
    """Load what other threads may write at the same time."""
    return loaded("load_relaxed", pointer, lanes, (scope,))


def load_acquire(pointer: Expr, lanes: int = 1, *, scope: str = "gpu") -> Any:
    """Load, and see all that was written before the release whose value it reads."""
    return loaded("load_acquire", pointer, lanes, (scope,))


def load_volatile(pointer: Expr, lanes: int = 1) -> Any:
    """Load anew each time, what others may write: relaxed, for the whole system."""
    return loaded("load_volatile", pointer, lanes, ("sys",))


def store_relaxed(pointer: Expr, value: Value, *, scope: str = "gpu") -> None:
    """Store what other threads may read at the same time."""
    save("store_relaxed", pointer, value, (scope,))


def store_release(pointer: Expr, value: Value, *, scope: str = "gpu") -> None:
    """Store after all earlier accesses of this thread, and of those it has synchronised with."""
    save("store_release", pointer, value, (scope,))


def store_volatile(pointer: Expr, value: Value) -> None:
    """Store each time, what others may read: relaxed, for the whole system."""
    save("store_volatile", pointer, value, ("sys",))


def loaded(name: str, pointer: Any, lanes: int, options: tuple[Any, ...]) -> Any:
    """The call of a load."""
    where = address_in(name, pointer)
    of: Type = where.dtype if lanes == 1 else VectorType(where.dtype, lanes)
    return invoke(name, where, results=(of,), options=options)


def save(name: str, pointer: Any, value: Value, options: tuple[Any, ...]) -> None:
    """The call of a store; the value is brought to the element's type."""
    where = address_in(name, pointer)
    invoke(name, where, stored(value, where.dtype), options=options)


def address_in(name: str, pointer: Any) -> Expr:
    """The pointer that a load or store is given."""
    where = operand(pointer)
    if not is_pointer(where):
        raise BadScript(
            f"{name}() takes the address of an element, not {spoken(pointer)}",
            help="write `~a[i, j]`",
        )
    return where
