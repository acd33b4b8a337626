"""Functions of numbers on grids and on expressions, by the names they have in kernels."""

from __future__ import annotations

from typing import Any, overload

from hidet.compute.grid import Grid, Operand
from hidet.compute.pointwise import of_one, of_two, pointwise
from hidet.ir.expr import Expr, Value
from hidet.ir.expr import select as select_expr

exp = of_one("exp")
exp2 = of_one("exp2")
expm1 = of_one("expm1")
log = of_one("log")
log2 = of_one("log2")
log10 = of_one("log10")
log1p = of_one("log1p")
sqrt = of_one("sqrt")
rsqrt = of_one("rsqrt")
sin = of_one("sin")
cos = of_one("cos")
tan = of_one("tan")
asin = of_one("asin")
acos = of_one("acos")
atan = of_one("atan")
sinh = of_one("sinh")
cosh = of_one("cosh")
tanh = of_one("tanh")
asinh = of_one("asinh")
acosh = of_one("acosh")
atanh = of_one("atanh")
erf = of_one("erf")
erfc = of_one("erfc")
lgamma = of_one("lgamma")
floor = of_one("floor")
ceil = of_one("ceil")
trunc = of_one("trunc")
rint = of_one("rint")
absolute = of_one("abs")
isnan = of_one("isnan")
isinf = of_one("isinf")
isfinite = of_one("isfinite")
signbit = of_one("signbit")
power = of_two("pow")
atan2 = of_two("atan2")
hypot = of_two("hypot")
copysign = of_two("copysign")


@overload
def select(condition: Grid, then: Operand, otherwise: Operand) -> Grid: ...
@overload
def select(condition: Value, then: Value, otherwise: Value) -> Expr: ...
def select(condition: Operand, then: Operand, otherwise: Operand) -> Any:
    """`then` where `condition` holds, else `otherwise`; only the chosen one is evaluated."""
    return pointwise(select_expr, condition, then, otherwise)


def both(first: Expr, *more: Expr) -> Expr:
    """Whether all conditions hold; later ones are not evaluated where an earlier one fails."""
    for each in more:
        first = first & each
    return first
