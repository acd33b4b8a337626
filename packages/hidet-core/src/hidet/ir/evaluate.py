"""The value of an expression without memory, by numpy's rules at the expression's type.

Integers wrap, narrow floats round after every operation. Folding and tests use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet.ir.expr import (
    And,
    Binary,
    Cast,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Lane,
    Math,
    Or,
    Pack,
    Reinterpret,
    Select,
    Splat,
    TruncDiv,
    TruncMod,
    Unary,
)
from hidet.ir.functions import meaning
from hidet.ir.numeric import BINARY, UNARY
from hidet.types import DType, PointerType, VectorType
from hidet.types.narrow import converted

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
            self.done[e] = converted(found, e.dtype)
        return self.done[e]

    def compute(self, e: Expr) -> Any:
        """The value from those of the operands; what is not chosen is not computed."""
        match e:
            case Const(value):
                return value
            case And(a):
                return self.both(e) if np.any(self.value(a)) else self.value(a)
            case Or(a):
                return self.value(a) if np.all(self.value(a)) else self.both(e)
            case FloorDiv(b=b) | FloorMod(b=b) | TruncDiv(b=b) | TruncMod(b=b):
                require_divisor(self.value(b))
                return self.both(e)
            case Binary():
                return self.both(e)
            case Unary(a):
                return UNARY[type(e)](self.value(a))
            case Select(condition, then, otherwise):
                return self.value(then if self.value(condition) else otherwise)
            case Math(name, args):
                return meaning(name)(*map(self.value, args))
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

    def both(self, e: Binary) -> Any:
        """The operator of both operands."""
        return BINARY[type(e)](self.value(e.a), self.value(e.b))


def reinterpret(value: Any, to: DType | VectorType) -> Any:
    """The bits of `value` as another type of the same width."""
    element, lanes = (to.element, to.lanes) if isinstance(to, VectorType) else (to, 1)
    viewed = np.atleast_1d(value).view(element.numpy)
    return viewed[0] if lanes == 1 else viewed


def require_divisor(b: Any) -> None:
    """Raise if an integer would be divided by zero."""
    if np.issubdtype(b.dtype, np.integer) and not np.all(b):
        raise BadArgument("integer division by zero")
