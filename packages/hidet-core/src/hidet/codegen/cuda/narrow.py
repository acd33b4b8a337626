"""Functions in float32 whose value is rounded to float16 or bfloat16 right after.

Such a value needs no 24 bits: what follows is right to 16 of them (2^-16 of the result, beside the
rounding's own 2^-12), at a third of the instructions, so that a kernel which streams float16 keeps
up with memory. So is a value that would be rounded if it were stored (`near_float16`). Only factors
of such a value are written so: products and quotients pass on a relative error as it is, sums may
cancel. `1 + erf(x)` and its like count as one function, because
their sum would lose what is small. Values that stay in float32 are never touched.

A sum, difference or product of two float16 in float32, rounded to float16, is one instruction on
float16: 24 bits are as many as rounding twice takes to give what rounding once does (2 * 11 + 2;
S. A. Figueroa, "When is double rounding innocuous?"), down to subnormal numbers, where they are
exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hidet.codegen.common.prelude import Part
from hidet.ir.expr import (
    Add,
    Cast,
    Const,
    Div,
    Expr,
    LessEqual,
    Math,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Select,
    Sub,
    constant,
)
from hidet.ir.functions import NEAR
from hidet.types import DType, bf16, f16, f32

NARROW = (f16, bf16)
ONE, TWO, MINUS_ONE, SQRT_2 = (constant(each, f32) for each in (1.0, 2.0, -1.0, math.sqrt(2)))
EXACT = 1e-6
"""How far from one a factor may be that does not matter: constants come rounded to float32."""
FEW_BITS = {name: of for of, name in NEAR.items()}
PLAIN = 2.0**-100, 2.0**100
"""Numbers between these may change places with others without leaving the range of float32."""

ERFC = (
    -1.62801337, -0.917426705, -0.151659891, 0.0331396237, -0.00484084431, 0.00039391758,
    -1.17385771e-05,
)  # fmt: skip
"""log2(erfc(x)) for x >= 0 as a polynomial without constant term, lowest power first: off by at
most 2^-18 where x * erfc(x) is a normal float16, falling for ever beyond. Fitted by Lawson's
reweighted least squares for the greatest error."""
WIDE_ERFC = (
    -1.62786545, -0.917391735, -0.152745356, 0.0347196939, -0.00578756272, 0.0006709907,
    -5.06732673e-05, 2.22625349e-06, -4.29873389e-08,
)  # fmt: skip
"""The same for the range of bfloat16: off by at most 2^-15 where erfc(x) is above 2^-128."""
LOG2_E = math.log2(math.e)
LINEAR = 0.0068
"""Where tanh(x) begins to be x but for 2^-16, and 1 - 2 / (1 + exp(2x)) to lose bits."""


def horner(coefficients: Sequence[float], at: str) -> str:
    """A polynomial, lowest power first, as text."""
    *rest, text = [f"{each:.9e}f" for each in coefficients]
    for each in reversed(rest):
        text = f"fmaf({text}, {at}, {each})"
    return text


def normal_distribution(name: str, erfc: Sequence[float]) -> Part:
    """(1 + erf(x / sqrt(2))) / 2: half of what `erfc` says, at a scaled place."""
    scaled = [each * 2 ** (-power / 2) for power, each in enumerate(erfc, 1)]
    return Part(
        f"""\
INLINE float {name}(float x) {{
  const float tail = exp2_or_0({horner((-1.0, *scaled), "fabsf(x)")});
  return x < 0.0f ? tail : 1.0f - tail;
}}""",
        ("exp2_or_0",),
    )


def _machine(name: str, instruction: str) -> Part:
    return Part(
        f"INLINE float {name}(float x) {{ float r; "
        f'asm("{instruction} %0, %1;" : "=f"(r) : "f"(x)); return r; }}'
    )


def _function(name: str, value: str, *parts: str) -> Part:
    return Part(f"INLINE float {name}(float x) {{ return {value}; }}", parts)


PARTS = {
    "exp2_of": _machine("exp2_of", "ex2.approx.f32"),
    "exp2_or_0": _machine("exp2_or_0", "ex2.approx.ftz.f32"),
    "inverse": _machine("inverse", "rcp.approx.f32"),
    "inverse_or_0": _machine("inverse_or_0", "rcp.approx.ftz.f32"),
    "narrow_sqrt": _machine("narrow_sqrt", "sqrt.approx.f32"),
    "narrow_exp": _function("narrow_exp", f"exp2_of(x * {LOG2_E!r}f)", "exp2_of"),
    # What is far from 0 is computed for all, not under a condition: constants stay in registers.
    "narrow_tanh": Part(
        f"""\
INLINE float narrow_tanh(float x) {{
  const float far = fmaf(-2.0f, inverse_or_0(1.0f + exp2_or_0(x * {2 * LOG2_E!r}f)), 1.0f);
  return fabsf(x) < {LINEAR}f ? x : far;
}}""",
        ("inverse_or_0", "exp2_or_0"),
    ),
    "logistic": _function(
        "logistic", f"inverse(1.0f + exp2_or_0(x * {-LOG2_E!r}f))", "inverse", "exp2_or_0"
    ),
    "normal_distribution": normal_distribution("normal_distribution", ERFC),
    "wide_normal_distribution": normal_distribution("wide_normal_distribution", WIDE_ERFC),
}  # fmt: skip
"""By name, each a function of one float: `logistic(x)` is 1 / (1 + exp(-x)), `normal_distribution`
the part of a normal distribution below x, `wide_` to the ends of bfloat16's range. What ends in
`or_0` gives 0 for results below 2^-126."""
DISTRIBUTION = {f16: "normal_distribution", bf16: "wide_normal_distribution"}

ON_HALVES: dict[type[Expr], str] = {Add: "__hadd_rn", Sub: "__hsub_rn", Mul: "__hmul_rn"}
"""Functions of cuda_fp16.h that round once and are never contracted."""
GREATEST = float(np.finfo(np.float16).max)
ALONE = {"exp": "narrow_exp", "tanh": "narrow_tanh", "sqrt": "narrow_sqrt"}


def narrowed(e: Expr) -> Expr:
    """`e` with the factors of what it rounds to few bits in their cheaper forms."""
    return Narrowing().visit(e)


class Narrowing:
    """The rewriting of one expression, each node of it once."""

    def __init__(self) -> None:
        self.done: dict[Expr, Expr] = {}
        self.cheap: dict[tuple[Expr, DType], Expr] = {}

    def visit(self, e: Expr) -> Expr:
        """`e` itself as precise as before, roundings in it of cheaper values."""
        if e not in self.done:
            new = e.map_children(self.visit)
            if isinstance(new, Cast) and new.to in NARROW and new.value.type is f32:
                new = on_halves(Cast(self.factors(new.value, new.to), new.to))
            elif isinstance(new, Math) and new.name in FEW_BITS and new.of is f32:
                new = self.factors(new.args[0], FEW_BITS[new.name])
            self.done[e] = new
        return self.done[e]

    def factors(self, e: Expr, to: DType) -> Expr:
        """The same value, as exactly as `to` needs it; only what it is a product of changes."""
        if (e, to) not in self.cheap:
            self.cheap[e, to] = self.cheaper(e, to)
        return self.cheap[e, to]

    def cheaper(self, e: Expr, to: DType) -> Expr:
        """The same, worked out."""
        match e:
            case Mul(a, b):
                return times(self.factors(a, to), self.factors(b, to))
            case Maximum(a, b) | Minimum(a, b):
                return type(e)(self.factors(a, to), self.factors(b, to))
            case Negate(a):
                return Negate(self.factors(a, to))
            case Select(condition, a, b):
                return Select(condition, self.factors(a, to), self.factors(b, to))
            case Div(a, Add(Const(1.0), Math("exp", (x,))) | Add(Math("exp", (x,)), Const(1.0))):
                return times(self.factors(a, to), of("logistic", times(x, MINUS_ONE)))
            case Div(a, Const(value)) if PLAIN[0] < abs(value) < PLAIN[1]:
                return times(self.factors(a, to), constant(1 / value, f32))
            case Div(a, b):
                return Div(self.factors(a, to), self.factors(b, to))
            case Add(Const(1.0), Math("erf", (x,))) | Add(Math("erf", (x,)), Const(1.0)):
                return times(TWO, of(DISTRIBUTION[to], times(x, SQRT_2)))
            case Add(Const(1.0), Math("tanh", (x,))) | Add(Math("tanh", (x,)), Const(1.0)):
                return times(TWO, of("logistic", times(x, TWO)))
            case Math(name, (x,)) if name in ALONE:
                return of(ALONE[name], x)
        return e


def on_halves(e: Cast) -> Expr:
    """The same, computed in float16 if it is one step from two values of that type.

    Zero where a value is negative is exact in either type, one instruction for two elements there:
    before or after rounding it is the same.
    """
    match e:
        case Cast(Select(LessEqual(x, Const(0)), Const(0), y)) if x is y:
            narrow = y.value if isinstance(y, Cast) else on_halves(Cast(y, e.to))
            if narrow.type is e.to and not isinstance(narrow, Cast):
                return Maximum(narrow, constant(0, e.to))
        case Cast(Add() | Sub() | Mul() as step) if e.to is f16:
            a, b = half(step.a), half(step.b)
            if a is not None and b is not None:
                return Math(ON_HALVES[type(step)], (a, b), f16)
    return e


def half(e: Expr) -> Expr | None:
    """A float32 as the float16 that it is."""
    match e:
        case Cast(value) if value.type is f16:
            return value
        case Const(value) if abs(value) <= GREATEST and float(np.float16(value)) == value:
            return constant(value, f16)
    return None


def of(function: str, x: Expr) -> Expr:
    """One of PARTS."""
    return Math(function, (x,), f32)


def times(a: Expr, b: Expr) -> Expr:
    """a * b, with one number for all that are factors."""
    (left, factor), (right, other) = without_number(a), without_number(b)
    both = factor * other
    if not PLAIN[0] < abs(both) < PLAIN[1]:
        return Mul(a, b)
    product = right if left is ONE else left if right is ONE else Mul(left, right)
    return product if abs(both - 1) < EXACT else Mul(product, constant(both, f32))


def without_number(e: Expr) -> tuple[Expr, float]:
    """`e` as a value and a number that it is multiplied by."""
    match e:
        case Const(value):
            return ONE, float(value)
        case Negate(a):
            return a, -1.0
        case Mul(a, Const(value)) | Mul(Const(value), a):
            return a, float(value)
    return e, 1.0
