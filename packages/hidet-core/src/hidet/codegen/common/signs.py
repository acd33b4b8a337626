"""Which integers are never negative: there C's `/` and `%` round as Python's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hidet.ir.expr import (
    Add,
    BitAnd,
    BitOr,
    BitXor,
    Builtin,
    Cast,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Lane,
    Math,
    Maximum,
    Minimum,
    Mul,
    Pack,
    Select,
    ShiftLeft,
    ShiftRight,
    Splat,
    TruncDiv,
    TruncMod,
    Var,
)
from hidet.types import DType, PointerType, TensorType
from hidet.types.dtypes import Kind

Nonnegative: TypeAlias = Callable[[Expr, Callable[[Var], bool]], bool]
"""Says whether an expression is never negative, given the variables known not to be."""


class Signs:
    """Remembers the variables known not to be negative, and what was asked about."""

    def __init__(self, prove: Nonnegative | None = None) -> None:
        self._known: set[Var] = set()
        self._answers: dict[Expr, bool] = {}
        self._prove = prove or self._local

    def learn(self, var: Var) -> None:
        """`var` is never negative: a loop's counter, or a name for such a value."""
        self._known.add(var)

    def nonnegative(self, e: Expr) -> bool:
        """Whether `e` is proven to be at least 0 (indices are taken not to overflow)."""
        if e not in self._answers:
            self._answers[e] = self._prove(e, self._known.__contains__)
        return self._answers[e]

    def _local(self, e: Expr, known: Callable[[Var], bool]) -> bool:
        if isinstance(e.type, PointerType | TensorType) or e.dtype.is_float:
            return False
        if e.dtype.kind in (Kind.UNSIGNED, Kind.BOOL):
            return True
        match e:
            case Const(value):
                return value >= 0
            case Var():
                return known(e)
            case Builtin():
                return True
            case Cast(value):
                return widens(value.dtype, e.dtype) and self.nonnegative(value)
        return self._combined(e)

    def _combined(self, e: Expr) -> bool:
        match e:
            case (Add(a, b) | Mul(a, b) | FloorDiv(a, b) | TruncDiv(a, b) | Minimum(a, b)
                  | BitOr(a, b) | BitXor(a, b)):  # fmt: skip
                return self.nonnegative(a) and self.nonnegative(b)
            case Maximum(a, b) | BitAnd(a, b):
                return self.nonnegative(a) or self.nonnegative(b)
            case FloorMod(_, b):
                return self.nonnegative(b)
            case TruncMod(a, _) | ShiftRight(a, _) | ShiftLeft(a, _):
                return self.nonnegative(a)
            case Select(_, then, otherwise):
                return self.nonnegative(then) and self.nonnegative(otherwise)
            case Splat(value) | Lane(value):
                return self.nonnegative(value)
            case Pack(lanes):
                return all(map(self.nonnegative, lanes))
            case Math("abs", _):
                return False  # the smallest integer stays negative
        return False


def widens(source: DType, to: DType) -> bool:
    """Whether a cast keeps every value that is not negative."""
    if source.is_bool:
        return True
    if not source.is_integer:
        return False
    return to.bits > source.bits or (to.bits == source.bits and source.kind is Kind.SIGNED)
