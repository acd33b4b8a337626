"""Updates of an element of global or shared memory that no other thread comes between.

`pointer` is the address of the element, as `~a[i, j]`; the result is the old value.
"""

from __future__ import annotations

from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Expr, Value
from hidet.lang.cuda.invoke import invoke, operand
from hidet.lang.values import converted, is_pointer, spoken


def atomic_add(pointer: Expr, value: Value) -> Any:
    """Add `value` to the element."""
    return update("atomic_add", pointer, value)


def atomic_min(pointer: Expr, value: Value) -> Any:
    """Lower the element to `value`; NaN if either is."""
    return update("atomic_min", pointer, value)


def atomic_max(pointer: Expr, value: Value) -> Any:
    """Raise the element to `value`; NaN if either is."""
    return update("atomic_max", pointer, value)


def atomic_exchange(pointer: Expr, value: Value) -> Any:
    """Replace the element by `value`."""
    return update("atomic_exchange", pointer, value)


def atomic_cas(pointer: Expr, expected: Value, value: Value) -> Any:
    """Replace the element by `value` if it has the bits of `expected`."""
    return update("atomic_cas", pointer, expected, value)


def update(name: str, pointer: Any, *values: Value) -> Any:
    """The call of an atomic; values are brought to the element's type."""
    where = operand(pointer)
    if not is_pointer(where):
        raise BadScript(
            f"{name}() takes the address of an element, not {spoken(pointer)}",
            help="write `~a[i, j]`",
        )
    typed = [converted(value, where.dtype, "the element") for value in values]
    return invoke(name, where, *typed, results=(where.dtype,))
