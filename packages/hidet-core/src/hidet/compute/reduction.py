"""Reductions inside definitions: sums, products, extremes over index ranges, and where they lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from hidet.errors import BadArgument, DtypeMismatch
from hidet.ir.expr import Const, Expr, Value, Var, constant, wrap
from hidet.ir.node import node
from hidet.types import DType, Size, Type, boolean, f32, f64, i32, i64, u64

How: TypeAlias = Literal["sum", "prod", "min", "max", "any", "all"]

REDUCTIONS: tuple[str, ...] = ("sum", "prod", "min", "max", "any", "all")


@node
class Reduce(Expr):
    """`value` combined by `how` over all values of `vars` below `extents`; its type is `value`'s.

    `min` and `max` give NaN if any value is NaN. Of no values it is the identity of `how`.
    """

    vars: tuple[Var, ...]
    extents: tuple[Size, ...]
    value: Expr
    how: How

    def infer(self) -> Type:
        return self.value.type

    @property
    def identity(self) -> Const:
        """What combining starts from."""
        return identity(self.how, self.value.dtype)

    def show(self, printer: Any) -> str:
        """As text: `sum(k < 8: x[i, k])`."""
        ranges = spelled_ranges(self.vars, self.extents, printer)
        return f"{self.how}({ranges}: {printer.expr(self.value)})"


@node
class ArgReduce(Expr):
    """Where `value` is least ("min") or greatest ("max"): the row-major position over `vars`.

    The first one wins; a NaN wins over every number. The type is i64.
    """

    vars: tuple[Var, ...]
    extents: tuple[Size, ...]
    value: Expr
    how: Literal["min", "max"]

    def infer(self) -> Type:
        return i64

    def show(self, printer: Any) -> str:
        """As text: `argmax(k < 8: x[i, k])`."""
        ranges = spelled_ranges(self.vars, self.extents, printer)
        return f"arg{self.how}({ranges}: {printer.expr(self.value)})"


def reduce(extents: Size | Sequence[Size], fn: Callable[..., Value], how: How) -> Expr:
    """`fn(k, ...)` combined by `how` over the index ranges; cast the value to accumulate wider."""
    sizes, names = ranges(extents)
    if how not in REDUCTIONS:
        raise BadArgument(f"there is no reduction {how!r}", help=f"use {', '.join(REDUCTIONS)}")
    value = wrap(fn(*names))
    if how in ("any", "all") and not value.dtype.is_bool:
        raise DtypeMismatch(f"{how} takes truth values, not {value.dtype}", help="compare first")
    return Reduce(names, sizes, value, how) if names else value


def arg_reduce(
    extents: Size | Sequence[Size], fn: Callable[..., Value], how: Literal["min", "max"]
) -> Expr:
    """The row-major position (i64) of the least or greatest `fn(k, ...)`; the first of equals."""
    sizes, names = ranges(extents)
    value = wrap(fn(*names))
    return ArgReduce(names, sizes, value, how) if names else constant(0, i64)


def ranges(extents: Size | Sequence[Size]) -> tuple[tuple[Size, ...], tuple[Var, ...]]:
    """The extents as a tuple, and a fresh index variable for each."""
    sizes = tuple(extents) if isinstance(extents, Sequence) else (extents,)
    return sizes, tuple(Var(f"r{position}", i32) for position in range(len(sizes)))


def spelled_ranges(names: Sequence[Var], extents: Sequence[Size], printer: Any) -> str:
    """Index ranges as text."""
    return ", ".join(f"{printer.expr(var)} < {n}" for var, n in zip(names, extents, strict=True))


def identity(how: How, of: DType) -> Const:
    """The value that changes nothing when combined by `how`."""
    if how in ("sum", "any"):
        return constant(0, of)
    if how in ("prod", "all"):
        return constant(1, of)
    edge = float("inf") if how == "min" else float("-inf")
    if of.is_float and math.isinf(found := constant(edge, of).value):
        return constant(found, of)
    low, high = of.limits  # also of floats that have no infinities
    return constant(high if how == "min" else low, of)


def accumulator(of: DType) -> DType:
    """The type in which sums of `of` are kept: float32 for narrow floats, int64 for integers."""
    if of.is_float:
        return f64 if of is f64 else f32
    return u64 if of is u64 else i64


def sum_accumulator(result: DType) -> DType:
    """The type in which sums and products are kept whose result is of type `result`.

    Sums of integers wrap around, so that no type wider than the result is needed.
    """
    narrow = result.is_integer and result.bits <= i32.bits
    return i32 if narrow else accumulator(result)


def arithmetic(of: DType) -> DType:
    """The type in which functions of `of` are computed: float32 for narrow floats, else `of`."""
    return accumulator(of) if of.is_float else of


def truth(e: Expr) -> Expr:
    """Whether the value is not zero; NaN is not."""
    return e if e.dtype is boolean else e.ne(constant(0, e.dtype))
