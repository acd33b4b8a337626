"""Functions of floats in a script: `exp(x)`, `sqrt(x)`, `atan2(y, x)`.

They take numbers and expressions; operands are brought to one type, integers to float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hidet.ir.expr import Expr, Value
from hidet.ir.functions import call
from hidet.lang.values import number, plain


def function(name: str, meaning: str) -> Callable[..., Expr]:
    """The public function of what `hidet.ir.functions` has under that name."""

    def of(*operands: Any) -> Expr:
        return call(name, *(operand(each) for each in operands))

    def operand(value: Any) -> Value:
        known = plain(value)
        if isinstance(known, int | float):
            return known
        return number(known, f"an operand of {name}()")

    of.__name__ = of.__qualname__ = name
    of.__doc__ = meaning
    return of


exp = function("exp", "e to the power x.")
exp2 = function("exp2", "2 to the power x.")
expm1 = function("expm1", "exp(x) - 1, precise near zero.")
log = function("log", "The natural logarithm of x.")
log2 = function("log2", "The logarithm of x to base 2.")
log10 = function("log10", "The logarithm of x to base 10.")
log1p = function("log1p", "log(1 + x), precise near zero.")
sqrt = function("sqrt", "The square root of x.")
rsqrt = function("rsqrt", "One over the square root of x.")

sin = function("sin", "The sine of x radians.")
cos = function("cos", "The cosine of x radians.")
tan = function("tan", "The tangent of x radians.")
asin = function("asin", "The angle, in radians, of a sine.")
acos = function("acos", "The angle, in radians, of a cosine.")
atan = function("atan", "The angle, in radians, of a tangent.")
atan2 = function("atan2", "The angle, in radians, of the point (x, y), as `atan2(y, x)`.")
hypot = function("hypot", "The length of (x, y).")
sinh = function("sinh", "The hyperbolic sine of x.")
cosh = function("cosh", "The hyperbolic cosine of x.")
tanh = function("tanh", "The hyperbolic tangent of x.")
asinh = function("asinh", "The inverse of sinh.")
acosh = function("acosh", "The inverse of cosh.")
atanh = function("atanh", "The inverse of tanh.")

erf = function("erf", "The error function of x.")
erfc = function("erfc", "One minus the error function of x, precise for large x.")
floor = function("floor", "x rounded down.")
ceil = function("ceil", "x rounded up.")
trunc = function("trunc", "x rounded toward zero.")
rint = function("rint", "x rounded to the nearest integer, halves to even.")
isnan = function("isnan", "Whether x is NaN.")
isinf = function("isinf", "Whether x is infinite.")
isfinite = function("isfinite", "Whether x is neither infinite nor NaN.")
signbit = function("signbit", "Whether the sign bit of x is set; that of -0.0 and some NaN is.")
copysign = function("copysign", "x with the sign of y, as `copysign(x, y)`.")
fma = function("fma", "a * b + c, rounded once where the target can, as `fma(a, b, c)`.")
