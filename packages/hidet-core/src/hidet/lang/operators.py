"""Operators of a script on values of either kind, and what syntax is called in messages."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import (
    Address,
    Equal,
    Expr,
    Less,
    LessEqual,
    NotEqual,
    ShiftLeft,
    ShiftRight,
    combine,
)
from hidet.lang.functions import power
from hidet.lang.memory import Distributed, is_array
from hidet.lang.values import alike, index, is_number, is_pointer, spoken

ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: power,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
SHIFTS: dict[type[ast.operator], Any] = {ast.LShift: ShiftLeft, ast.RShift: ShiftRight}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
UNKNOWN: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: partial(combine, Equal),
    ast.NotEq: partial(combine, NotEqual),
    ast.Lt: partial(combine, Less),
    ast.LtE: partial(combine, LessEqual),
    ast.Gt: lambda a, b: combine(Less, b, a),
    ast.GtE: lambda a, b: combine(LessEqual, b, a),
}


def binary(op: ast.operator, left: Any, right: Any) -> Any:
    """A binary operator of two values."""
    apply = ARITHMETIC.get(type(op))
    if apply is None:
        raise BadScript(
            "a script has no `@`", help="write the product as loops, or use mma intrinsics"
        )
    unknown = isinstance(left, Expr) or isinstance(right, Expr)
    if unknown and is_pointer(left) and isinstance(op, ast.Add):
        return Address(left, (index(right),))
    if unknown and is_pointer(left) and isinstance(op, ast.Sub) and not is_pointer(right):
        return Address(left, (-index(right),))
    for side in (left, right) if unknown else ():
        if is_array(side) or not (isinstance(side, Expr) or is_number(side)):
            name = f"`{side.local.name}`" if isinstance(side, Distributed) else spoken(side)
            raise BadScript(f"{name} is not a number", help="index it first")
    if unknown and not isinstance(op, ast.Pow):
        left, right = alike(left, right)
    if unknown and type(op) in SHIFTS:
        return combine(SHIFTS[type(op)], left, right)
    return apply(left, right)


def compare(op: ast.cmpop, left: Any, right: Any) -> Any:
    """A comparison of two values."""
    sides = (left, right)
    if isinstance(op, ast.Is | ast.IsNot) or not any(isinstance(s, Expr) for s in sides):
        return COMPARISONS[type(op)](left, right)
    if type(op) not in UNKNOWN:
        raise BadScript("`in` is only of values known beforehand")
    for side in sides:
        if not isinstance(side, Expr) and not is_number(side):
            raise BadScript(f"{spoken(left)} cannot be compared with {spoken(right)}")
    return UNKNOWN[type(op)](*alike(left, right))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """An index of several dimensions, or of one."""
    return value if isinstance(value, tuple) else (value,)


def positions(value: Any) -> tuple[Any, ...]:
    """An index of a tensor; slices are none."""
    found = as_tuple(value)
    if any(isinstance(each, slice) for each in found):
        raise BadScript("a script has no slices of tensors", help="loop over the elements")
    return found


CONSTRUCTS = {
    "Await": "`await`",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
    "NamedExpr": "assignment inside of an expression",
    "SetComp": "set comprehension",
    "Starred": "starred expression",
    "AsyncFor": "`async for`",
    "AsyncWith": "`async with`",
    "AsyncFunctionDef": "`async def`",
    "FunctionDef": "`def` inside of a function",
    "ClassDef": "`class`",
    "Delete": "`del`",
    "With": "`with`",
    "Raise": "`raise`",
    "Try": "`try`",
    "TryStar": "`try`",
    "Import": "`import`",
    "ImportFrom": "`import`",
    "Global": "`global`",
    "Nonlocal": "`nonlocal`",
    "Match": "`match`",
}


def construct(node: ast.AST) -> str:
    """What a piece of syntax is called."""
    name = type(node).__name__
    return CONSTRUCTS.get(name, name)
