"""Updates of an element of global or shared memory that no other thread comes between.

`pointer` is the address of the element, as `~a[i, j]`; the result is the old value. `order` is
"relaxed", "acquire", "release" or "acq_rel", `scope` the threads among which it orders and is
atomic: "block", "cluster", "gpu" or "sys". Relaxed updates for the whole GPU are the default.
"""

from __future__ import annotations

from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke, operand
from hidet.lang.values import converted, is_pointer, spoken
from hidet.types import Type, VectorType

RELAXED, DEVICE = "relaxed", "gpu"


def atomic_add(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Add `value` to the element; a vector of f32x2, f32x4, f16x2, ... to as many neighbours."""
    return update("atomic_add", pointer, value, order=order, scope=scope)


def atomic_sub(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Subtract `value` from the element."""
    return update("atomic_sub", pointer, value, order=order, scope=scope)


def atomic_min(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Lower the element to `value`; NaN if either is."""
    return update("atomic_min", pointer, value, order=order, scope=scope)


def atomic_max(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Raise the element to `value`; NaN if either is."""
    return update("atomic_max", pointer, value, order=order, scope=scope)


def atomic_exchange(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Replace the element by `value`."""
    return update("atomic_exchange", pointer, value, order=order, scope=scope)


def atomic_inc(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Add 1 to a u32 element; where it is `value` or more, it becomes 0."""
    return update("atomic_inc", pointer, value, order=order, scope=scope)


def atomic_dec(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Take 1 from a u32 element; where it is 0 or more than `value`, it becomes `value`."""
    return update("atomic_dec", pointer, value, order=order, scope=scope)


def atomic_and(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Clear the bits of an integer element that `value` does not have."""
    return update("atomic_and", pointer, value, order=order, scope=scope)


def atomic_or(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Set the bits of an integer element that `value` has."""
    return update("atomic_or", pointer, value, order=order, scope=scope)


def atomic_xor(pointer: Expr, value: Value, order: str = RELAXED, scope: str = DEVICE) -> Any:
    """Flip the bits of an integer element that `value` has."""
    return update("atomic_xor", pointer, value, order=order, scope=scope)


def atomic_cas(
    pointer: Expr, expected: Value, value: Value, order: str = RELAXED, scope: str = DEVICE
) -> Any:
    """Replace the element by `value` if it has the bits of `expected`."""
    return update("atomic_cas", pointer, expected, value, order=order, scope=scope)


def update(name: str, pointer: Any, *values: Value, order: str, scope: str) -> Any:
    """The call of an atomic; values are brought to the element's type."""
    where = operand(pointer)
    if not is_pointer(where):
        raise BadScript(
            f"{name}() takes the address of an element, not {spoken(pointer)}",
            help="write `~a[i, j]`",
        )
    to: Type = where.dtype
    for value in values:
        if isinstance(value, Expr) and isinstance(value.type, VectorType):
            to = VectorType(where.dtype, value.type.lanes)
    typed = [converted(value, to, "the element") for value in values]
    plain = (order, scope) == (RELAXED, DEVICE)
    options = () if plain else (order, scope)
    return invoke(name, where, *typed, results=(to,), options=options)
