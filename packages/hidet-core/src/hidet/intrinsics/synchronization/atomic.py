"""Atomic updates of global and shared memory. PTX ISA: atom, red.

Operands (pointer, value), for cas (pointer, expected, value); the old value is the result, if one
is asked for. Options are none, or (order, scope): how the update orders the thread's other
accesses, and for which threads. What the hardware has no instruction for is a loop of
compare-and-swap (`hidet.intrinsics.synchronization.atomic_text`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.base import Effects, Intrinsic
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.expect import expect_dtype, expect_option, expect_pointer
from hidet.intrinsics.synchronization.atomic_text import text
from hidet.intrinsics.words import scope_of
from hidet.ir.stmt import Invoke
from hidet.types import (
    DType,
    Scope,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i16,
    i32,
    i64,
    u16,
    u32,
    u64,
)

NUMBERS = (i32, u32, i64, u64, f32, f64, f16, bf16, i16, u16)
WHOLE = (i32, u32, i64, u64, i16, u16)
ALLOWED: dict[str, tuple[DType, ...]] = {
    "atomic_inc": (u32,),
    "atomic_dec": (u32,),
    "atomic_and": WHOLE,
    "atomic_or": WHOLE,
    "atomic_xor": WHOLE,
}
"""The element types of the updates that not all of `NUMBERS` have."""
VECTORS = {f32: (2, 4), f16: (2, 4, 8), bf16: (2, 4, 8)}
"""How many elements one addition may take at once, each atomic by itself (sm_90)."""
ORDERS = ("relaxed", "acquire", "release", "acq_rel")
SCOPES = ("block", "cluster", "gpu", "sys")

Change = Callable[[Any, Any], Any]
CHANGES: dict[str, Change] = {
    "atomic_add": lambda old, new: old + new,
    "atomic_sub": lambda old, new: old - new,
    "atomic_min": np.minimum,
    "atomic_max": np.maximum,
    "atomic_exchange": lambda old, new: new,
    "atomic_inc": lambda old, new: old + old.dtype.type(1) if old < new else old.dtype.type(0),
    "atomic_dec": lambda old, new: new if old == 0 or old > new else old - old.dtype.type(1),
    "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or,
    "atomic_xor": np.bitwise_xor,
}


def check_atomic(invoke: Invoke) -> None:
    """A pointer and one or two values of its element type; at most one result."""
    count = 3 if invoke.name == "atomic_cas" else 2
    if len(invoke.args) != count or len(invoke.results) > 1 or len(invoke.options) not in (0, 2):
        raise BadKernel(
            f"{invoke.name} takes {count} operands and gives at most one result",
            place=invoke.place,
        )
    if invoke.options:
        expect_option(invoke, 0, *ORDERS)
        expect_option(invoke, 1, *SCOPES)
    of = expect_pointer(invoke, 0, *ALLOWED.get(invoke.name, NUMBERS))
    for value in (*invoke.args[1:], *invoke.results):
        expect_dtype(invoke, value, of)
        if value.type != invoke.args[1].type:
            raise DtypeMismatch(
                f"{invoke.name} has operands {invoke.args[1].type} and {value.type}",
                place=invoke.place,
            )
    check_vector(invoke, of)


def check_vector(invoke: Invoke, of: DType) -> None:
    """Several elements at once are only added, and only so many."""
    found = invoke.args[1].type
    if not isinstance(found, VectorType):
        return
    lanes = VECTORS.get(of, ()) if invoke.name == "atomic_add" else ()
    if found.lanes not in lanes:
        known = ", ".join(f"{each}x{n}" for each, counts in VECTORS.items() for n in counts)
        raise DtypeMismatch(
            f"there is no {invoke.name} of {found}",
            place=invoke.place,
            help=f"atomic_add takes {known}",
        )
    if invoke.options and scope_of(invoke.args[0]) is Scope.SHARED:
        raise BadKernel(
            f"an ordered {invoke.name} of {found} is of global memory", place=invoke.place
        )


def effects(invoke: Invoke) -> Effects:
    """Reads and writes behind its pointer; an ordered update orders other accesses too."""
    ordered = bool(invoke.options) and invoke.options[0] != "relaxed"
    return Effects(reads=invoke.args[:1], writes=invoke.args[:1], barrier=ordered)


def updated(context: Context, invoke: Invoke) -> None:
    """Each thread in turn changes the element; the old value is its result."""
    values = context.value(invoke.args[1])
    if values.ndim > 1 and context.scope(invoke.args[0]) is not scope_expected(invoke):
        context.fault(f"{invoke.name} of {invoke.args[1].type} is of global memory")
    change = CHANGES[invoke.name]
    if flushes(context, invoke):
        change = flushed(change)
    give(context, invoke, lambda seen, row: change(seen, values[row]))


def scope_expected(invoke: Invoke) -> Scope:
    """Where the instruction of a vector looks: global memory unless the pointer's type tells."""
    return scope_of(invoke.args[0]) or Scope.GLOBAL


def flushes(context: Context, invoke: Invoke) -> bool:
    """Whether denormal numbers become zero: in additions of f32 in global memory."""
    adds = invoke.name in ("atomic_add", "atomic_sub")
    return adds and invoke.args[0].dtype is f32 and context.scope(invoke.args[0]) is Scope.GLOBAL


def flushed(change: Change) -> Change:
    """The change with denormal operands and results of f32 replaced by zeros of their sign."""

    def normal(value: Any) -> Any:
        small = np.abs(value) < np.finfo(np.float32).tiny
        return np.where(small, np.copysign(np.float32(0), value), value)[()]

    return lambda old, new: normal(change(normal(old), normal(new)))


def swapped(context: Context, invoke: Invoke) -> None:
    """Each thread in turn writes its value if it finds the bits it expects."""
    expected, values = (context.value(arg) for arg in invoke.args[1:])

    def change(seen: Any, row: int) -> Any:
        return values[row] if seen.tobytes() == expected[row].tobytes() else seen

    give(context, invoke, change)


def give(context: Context, invoke: Invoke, change: Callable[[Any, int], Any]) -> None:
    """Update, between the fences that stand for its order, and assign the old value.

    A release is a fence before a relaxed update, an acquire one after it. That orders a little more
    than the hardware promises: a kernel that needs the difference is not caught.
    """
    order, scope = invoke.options or ("relaxed", "gpu")
    of = invoke.args[1].type
    lanes = of.lanes if isinstance(of, VectorType) else 1
    if order in ("release", "acq_rel"):
        context.fence(scope)
    old: Array = context.update(invoke.args[0], change, lanes)
    if order in ("acquire", "acq_rel"):
        context.fence(scope)
    if invoke.results:
        context.assign(invoke.results[0], old)


ATOMICS = tuple(
    Intrinsic(name, doc + " PTX ISA: atom, red.", check_atomic, effects, text, meaning)
    for name, doc, meaning in (
        ("atomic_add", "Add to the element, or to 2, 4 or 8 neighbours.", updated),
        ("atomic_sub", "Subtract from the element.", updated),
        ("atomic_min", "Lower the element to the value; NaN if either is.", updated),
        ("atomic_max", "Raise the element to the value; NaN if either is.", updated),
        ("atomic_exchange", "Replace the element.", updated),
        ("atomic_inc", "Count the element up to the value, then from 0 again.", updated),
        ("atomic_dec", "Count the element down to 0, then from the value again.", updated),
        ("atomic_and", "Keep the element's bits that the value has.", updated),
        ("atomic_or", "Set the value's bits in the element.", updated),
        ("atomic_xor", "Flip the value's bits in the element.", updated),
        ("atomic_cas", "Replace the element if it has the expected bits.", swapped),
    )
)
