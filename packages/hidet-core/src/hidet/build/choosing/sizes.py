"""Sizes as data: expressions over symbols in the form that launch plans hold."""

from __future__ import annotations

from typing import Any

from hidet.errors import InternalError
from hidet.ir.expr import (
    Add,
    Binary,
    Cast,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Sub,
    TruncDiv,
    TruncMod,
    Var,
)
from hidet.types import Size

SPELLED: dict[type[Expr], str] = {
    Add: "+",
    Sub: "-",
    Mul: "*",
    FloorDiv: "//",
    FloorMod: "%",
    TruncDiv: "//",  # sizes are never negative
    TruncMod: "%",
    Minimum: "min",
    Maximum: "max",
}


def plan_size(size: Size) -> Any:
    """The size as a number, a symbol's name, or `[operator, left, right]`, as `runtime.sizes` has
    them."""
    match size:
        case int():
            return size
        case Const(value):
            return int(value)
        case Var(name):
            return name
        case Cast(Mul(Cast(value), Const(factor)), to) if to.is_integer and isinstance(
            factor, float
        ):
            return ["scale", plan_size(value), factor.hex()]
        case Cast(value) if value.dtype.is_integer:
            return plan_size(value)
        case Negate(value):
            return ["-", 0, plan_size(value)]
        case Binary(left, right) if type(size) in SPELLED:
            return [SPELLED[type(size)], plan_size(left), plan_size(right)]
    raise InternalError(f"`{size}` cannot be a size of a launch plan")
