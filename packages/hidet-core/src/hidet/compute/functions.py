"""Functions of numbers on grids and on expressions, by the names they have in kernels."""

from __future__ import annotations

from typing import Any

from hidet.compute.grid import Operand, function, pointwise
from hidet.ir.expr import Expr
from hidet.ir.expr import select as select_expr

exp = function("exp")
exp2 = function("exp2")
expm1 = function("expm1")
log = function("log")
log2 = function("log2")
log10 = function("log10")
log1p = function("log1p")
sqrt = function("sqrt")
rsqrt = function("rsqrt")
sin = function("sin")
cos = function("cos")
tan = function("tan")
asin = function("asin")
acos = function("acos")
atan = function("atan")
sinh = function("sinh")
cosh = function("cosh")
tanh = function("tanh")
asinh = function("asinh")
acosh = function("acosh")
atanh = function("atanh")
erf = function("erf")
erfc = function("erfc")
floor = function("floor")
ceil = function("ceil")
trunc = function("trunc")
rint = function("rint")
absolute = function("abs")
isnan = function("isnan")
isinf = function("isinf")
isfinite = function("isfinite")
signbit = function("signbit")
power = function("pow")
atan2 = function("atan2")
hypot = function("hypot")
copysign = function("copysign")


def select(condition: Operand, then: Operand, otherwise: Operand) -> Any:
    """`then` where `condition` holds, else `otherwise`; only the chosen one is evaluated."""
    return pointwise(select_expr, condition, then, otherwise)


def both(first: Expr, *more: Expr) -> Expr:
    """Whether all conditions hold; later ones are not evaluated where an earlier one fails."""
    for each in more:
        first = first & each
    return first
