"""Pure functions of numbers: exp, sqrt, tanh and the like, by name.

Each is declared once: how many operands, the type of the result, and its meaning in numpy, which
folding, evaluation and the simulator use. How a target spells it is in codegen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hidet.errors import BadArgument, DtypeMismatch
from hidet.ir.expr import Expr, Math, Value, convert, select, unify, wrap
from hidet.types import DType, bf16, boolean, f8e8m0, f16, f32, i32, u8
from hidet.types.narrow import FORMATS


@dataclass(frozen=True)
class Function:
    """A pure function: `numpy` computes it on arrays; `result` None means the operands' type."""

    name: str
    arity: int
    numpy: Callable[..., Any]
    result: DType | None = None
    integers: bool = False
    """Whether it takes integers as they are; otherwise they become float32 first."""


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of Python floats, applied to each element of an array."""

    def apply(x: Any) -> Any:
        wide = np.asarray(x)
        flat = [function(float(v)) for v in wide.astype(np.float64).ravel()]
        return np.array(flat).reshape(wide.shape).astype(wide.dtype)

    return apply


def log_of_gamma(x: float) -> float:
    """The logarithm of gamma(x) without its sign; infinite at the poles."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


log_gamma = _each(log_of_gamma)


def _code(x: Any, of: DType) -> Any:
    """The bytes of numbers rounded to a narrow type."""
    return np.asarray(x).astype(of.numpy).view(np.uint8)


def _number(code: Any, of: DType) -> Any:
    """The numbers that bytes of a narrow type mean."""
    return np.asarray(code).view(of.numpy).astype(np.float32)


def _rounded_quotient(x: Any, scale: Any, low: Any, high: Any) -> Any:
    """x / scale to the nearest whole number, ties to even, within bounds; NaN is the upper one."""
    with np.errstate(all="ignore"):
        found = np.rint(x / scale)
        found = np.where(found < high, found, high)
        return np.where(found > low, found, low)


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function("exp", 1, np.exp),
        Function("exp2", 1, np.exp2),
        # As fast as the target can: on CUDA what is less than the least normal number becomes zero.
        Function("exp2_approx", 1, np.exp2),
        # Of what is 0 at most: on CPUs what is less than the least normal number becomes zero.
        Function("exp_nonpositive", 1, np.exp),
        Function("expm1", 1, np.expm1),
        Function("log", 1, np.log),
        Function("log2", 1, np.log2),
        Function("log10", 1, np.log10),
        Function("log1p", 1, np.log1p),
        Function("sqrt", 1, np.sqrt),
        Function("rsqrt", 1, lambda x: (1 / np.sqrt(x)).astype(np.asarray(x).dtype)),
        Function("sin", 1, np.sin),
        Function("cos", 1, np.cos),
        Function("tan", 1, np.tan),
        Function("asin", 1, np.arcsin),
        Function("acos", 1, np.arccos),
        Function("atan", 1, np.arctan),
        Function("sinh", 1, np.sinh),
        Function("cosh", 1, np.cosh),
        Function("tanh", 1, np.tanh),
        Function("asinh", 1, np.arcsinh),
        Function("acosh", 1, np.arccosh),
        Function("atanh", 1, np.arctanh),
        Function("erf", 1, _each(math.erf)),
        Function("erfc", 1, _each(math.erfc)),
        Function("lgamma", 1, log_gamma),
        Function("floor", 1, np.floor),
        Function("ceil", 1, np.ceil),
        Function("trunc", 1, np.trunc),
        Function("rint", 1, np.rint),
        Function("abs", 1, np.abs, integers=True),
        Function("isnan", 1, np.isnan, boolean),
        Function("isinf", 1, np.isinf, boolean),
        Function("isfinite", 1, np.isfinite, boolean),
        Function("signbit", 1, np.signbit, boolean),
        Function("pow", 2, np.power),
        Function("atan2", 2, np.arctan2),
        Function("hypot", 2, np.hypot),
        Function("copysign", 2, np.copysign),
        Function("fma", 3, lambda a, b, c: a * b + c),
        Function("near_float16", 1, np.positive),
        Function("near_bfloat16", 1, np.positive),
    )
}

CODES: dict[str, Function] = {
    function.name: function
    for of in (*FORMATS, f8e8m0)
    for function in (
        Function(f"encode_{of}", 1, partial(_code, of=of), u8),
        Function(f"decode_{of}", 1, partial(_number, of=of), f32),
    )
}
"""What narrow floats are made of and become: a float32, by the byte that holds their code."""


QUOTIENT = Function("rounded_quotient", 4, _rounded_quotient, i32)
"""Of float32 x, a scale, and bounds that are whole numbers of at most 256 either way."""

MADE: dict[str, Function] = {**CODES, QUOTIENT.name: QUOTIENT}
"""What passes make of others."""


def meaning(name: str) -> Callable[..., Any]:
    """What a function of either table computes, on numpy arrays."""
    return (FUNCTIONS.get(name) or MADE[name]).numpy


NEAR: dict[DType, str] = {f16: "near_float16", bf16: "near_bfloat16"}
"""By type, what gives its operand, a float32 of which a few bits more than the type has are enough:
it was to be rounded, and stays as it is. A target may have cheaper functions for it."""


def clamped(x: Expr, low: Expr, high: Expr) -> Expr:
    """x within bounds; NaN is the upper one."""
    below = select(x < high, x, high)
    return select(below > low, below, low)


def call(name: str, *args: Value) -> Expr:
    """The function `name` of the operands, brought to one type (integers to float32 if need be)."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise BadArgument(
            f"there is no function {name!r}", help=f"there are {', '.join(FUNCTIONS)}"
        )
    if len(args) != function.arity:
        raise BadArgument(f"{name} takes {function.arity} operands, not {len(args)}")
    operands = [wrap(arg) for arg in args]
    for index in range(1, len(operands)):
        operands[0], operands[index] = unify(operands[0], operands[index])
    operands = [convert(e, operands[0].dtype) for e in operands]
    if not function.integers and not operands[0].dtype.is_float:
        operands = [convert(e, f32) for e in operands]
    if function.name == "abs" and operands[0].dtype.is_bool:
        raise DtypeMismatch("abs takes numbers, not bool")
    return Math(name, tuple(operands), function.result or operands[0].dtype)
