"""The value of an expression without memory, by numpy's rules at the expression's type.

Integers wrap, narrow floats round after every operation. Folding and tests use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet.ir.expr import (
    Add,
    And,
    Binary,
    BitAnd,
    BitNot,
    BitOr,
    BitXor,
    Cast,
    Const,
    Div,
    Equal,
    Expr,
    FloorDiv,
    FloorMod,
    Lane,
    Less,
    LessEqual,
    Math,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Not,
    NotEqual,
    Or,
    Pack,
    Reinterpret,
    Select,
    ShiftLeft,
    ShiftRight,
    Splat,
    Sub,
    TruncDiv,
    TruncMod,
    Unary,
)
from hidet.ir.functions import FUNCTIONS
from hidet.types import DType, PointerType, VectorType

Number = int | float | bool


def evaluate(e: Expr, env: Mapping[Expr, Number] | None = None) -> Any:
    """The number that `e` is where variables (and builtins) have the values of `env`.

    A vector gives the tuple of its lanes. A variable that `env` lacks, a memory access and an
    integer divided by zero are a BadArgument.
    """
    with np.errstate(all="ignore"):
        result = np.asarray(Evaluation(env or {}).value(e))
    return result.item() if result.ndim == 0 else tuple(result.tolist())


class Evaluation:
    """Values of expressions in one environment, each computed once."""

    def __init__(self, env: Mapping[Expr, Number]) -> None:
        self.env = env
        self.done: dict[Expr, Any] = {}

    def value(self, e: Expr) -> Any:
        """The value as a numpy scalar or array of lanes, of the type's numpy dtype."""
        if e not in self.done:
            given = self.env.get(e)
            found = self.compute(e) if given is None else given
            self.done[e] = np.asarray(found).astype(e.dtype.numpy)
        return self.done[e]

    def compute(self, e: Expr) -> Any:
        """The value from those of the operands; what is not chosen is not computed."""
        match e:
            case Const(value):
                return value
            case And(a):
                return self.value(a) if not np.any(self.value(a)) else self.both(np.logical_and, e)
            case Or(a):
                return self.value(a) if np.all(self.value(a)) else self.both(np.logical_or, e)
            case Binary():
                return self.both(BINARY[type(e)], e)
            case Unary(a):
                return UNARY[type(e)](self.value(a))
            case Select(condition, then, otherwise):
                return self.value(then if self.value(condition) else otherwise)
            case Math(name, args):
                return FUNCTIONS[name].numpy(*map(self.value, args))
            case Cast(value):
                return self.value(value)
        return self.lanes(e)

    def lanes(self, e: Expr) -> Any:
        """The value of an expression about bits or lanes."""
        match e:
            case Reinterpret(value, to) if not isinstance(to, PointerType):
                return reinterpret(self.value(value), to)
            case Pack(lanes):
                return np.stack([self.value(lane) for lane in lanes])
            case Splat(value, count):
                return np.full(count, self.value(value))
            case Lane(vector, lane):
                return self.value(vector)[lane]
        raise BadArgument(f"the value of `{e}` is not known here")

    def both(self, function: Callable[[Any, Any], Any], e: Binary) -> Any:
        """`function` of both operands."""
        return function(self.value(e.a), self.value(e.b))


def reinterpret(value: Any, to: DType | VectorType) -> Any:
    """The bits of `value` as another type of the same width."""
    element, lanes = (to.element, to.lanes) if isinstance(to, VectorType) else (to, 1)
    viewed = np.atleast_1d(value).view(element.numpy)
    return viewed[0] if lanes == 1 else viewed


def nonzero(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`function` that refuses an integer zero as its second operand."""

    def apply(a: Any, b: Any) -> Any:
        if np.issubdtype(np.asarray(b).dtype, np.integer) and not np.all(b):
            raise BadArgument("integer division by zero")
        return function(a, b)

    return apply


def truncated_quotient(a: Any, b: Any) -> Any:
    """The quotient rounded toward zero."""
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        return np.floor_divide(a - np.fmod(a, b), b)
    return np.trunc(a / b)


BINARY: dict[type[Binary], Callable[[Any, Any], Any]] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Div: np.true_divide,
    FloorDiv: nonzero(np.floor_divide),
    FloorMod: nonzero(np.mod),
    TruncDiv: nonzero(truncated_quotient),
    TruncMod: nonzero(np.fmod),
    Minimum: np.minimum,
    Maximum: np.maximum,
    BitAnd: np.bitwise_and,
    BitOr: np.bitwise_or,
    BitXor: np.bitwise_xor,
    ShiftLeft: np.left_shift,
    ShiftRight: np.right_shift,
    Less: np.less,
    LessEqual: np.less_equal,
    Equal: np.equal,
    NotEqual: np.not_equal,
}
UNARY: dict[type[Unary], Callable[[Any], Any]] = {
    Negate: np.negative,
    Not: np.logical_not,
    BitNot: np.invert,
}
