"""Functions of one element: arithmetic, rounding, exponentials, trigonometry, tests."""

from __future__ import annotations

import math

import numpy as np

from hidet.compute import functions as f
from hidet.compute import select, truth
from hidet.ir.expr import Expr, constant
from hidet.ops.elementwise.families import ANY, FLOAT, WHOLE, unary

erf_array = np.vectorize(math.erf, otypes=[np.float64])
erfc_array = np.vectorize(math.erfc, otypes=[np.float64])


def sign_of(v: Expr) -> Expr:
    """1, 0 or -1 in the type of v."""
    one, zero = constant(1, v.dtype), constant(0, v.dtype)
    below = zero if v.dtype.limits[0] == 0 else select(v < 0, -one, zero)
    return select(v > 0, one, below)


negative = unary("negative", "-x.", lambda v: -v, np.negative)
absolute = unary("absolute", "|x|: the elements without their sign.", f.absolute, np.abs)
square = unary("square", "x * x.", lambda v: v * v, np.square)
sign = unary(
    "sign", "1 where x is positive, -1 where it is negative, 0 where it is zero or NaN.",
    sign_of, lambda x: np.nan_to_num(np.sign(x)),
)  # fmt: skip
reciprocal = unary(
    "reciprocal", "1 / x.", lambda v: 1 / v, lambda x: 1 / x,
    gives="float", within=(0.2, 4),
)  # fmt: skip

floor = unary("floor", "x rounded down to a whole number.", f.floor, np.floor, dtypes=FLOAT)
ceil = unary("ceil", "x rounded up to a whole number.", f.ceil, np.ceil, dtypes=FLOAT)
trunc = unary("trunc", "x rounded toward zero.", f.trunc, np.trunc, dtypes=FLOAT)
round = unary(
    "round", "x rounded to the nearest whole number, halves to even.", f.rint, np.rint, dtypes=FLOAT
)

exp = unary("exp", "e to the power x.", f.exp, np.exp, gives="float", within=(-10, 10), factor=16)
exp2 = unary("exp2", "2 to the power x.", f.exp2, np.exp2, gives="float", within=(-10, 10))
expm1 = unary("expm1", "exp(x) - 1, precise near zero.", f.expm1, np.expm1, gives="float")
log = unary("log", "The natural logarithm.", f.log, np.log, gives="float", within=(0.1, 50))
log2 = unary("log2", "The logarithm to base 2.", f.log2, np.log2, gives="float", within=(0.1, 50))
log10 = unary(
    "log10", "The logarithm to base 10.", f.log10, np.log10, gives="float", within=(0.1, 50)
)
log1p = unary("log1p", "log(1 + x), precise near zero.", f.log1p, np.log1p, gives="float",
              within=(-0.9, 9))  # fmt: skip
sqrt = unary(
    "sqrt",
    "The square root; NaN of negative numbers.",
    f.sqrt,
    np.sqrt,
    gives="float",
    within=(0, 50),
)
rsqrt = unary(
    "rsqrt", "1 / sqrt(x).", f.rsqrt, lambda x: 1 / np.sqrt(x),
    gives="float", within=(0.1, 50),
)  # fmt: skip
erf = unary("erf", "The error function.", f.erf, erf_array, gives="float")
erfc = unary(
    "erfc", "1 - erf(x), precise where erf(x) is near 1.", f.erfc, erfc_array, gives="float"
)

sin = unary("sin", "The sine of x radians.", f.sin, np.sin, gives="float")
cos = unary("cos", "The cosine of x radians.", f.cos, np.cos, gives="float")
tan = unary("tan", "The tangent of x radians.", f.tan, np.tan, gives="float", within=(-1, 1))
asin = unary(
    "asin",
    "The inverse of sin, in radians; NaN outside of -1 to 1.",
    f.asin,
    np.arcsin,
    gives="float",
    within=(-1, 1),
)
acos = unary(
    "acos",
    "The inverse of cos, in radians; NaN outside of -1 to 1.",
    f.acos,
    np.arccos,
    gives="float",
    within=(-1, 1),
)
atan = unary("atan", "The inverse of tan, in radians.", f.atan, np.arctan, gives="float")
sinh = unary("sinh", "The hyperbolic sine.", f.sinh, np.sinh, gives="float")
cosh = unary("cosh", "The hyperbolic cosine.", f.cosh, np.cosh, gives="float")
tanh = unary("tanh", "The hyperbolic tangent.", f.tanh, np.tanh, gives="float")
asinh = unary("asinh", "The inverse of sinh.", f.asinh, np.arcsinh, gives="float")
acosh = unary("acosh", "The inverse of cosh.", f.acosh, np.arccosh, gives="float", within=(1.1, 9))
atanh = unary(
    "atanh", "The inverse of tanh.", f.atanh, np.arctanh, gives="float", within=(-0.9, 0.9)
)

isnan = unary("isnan", "Whether x is NaN.", f.isnan, np.isnan, gives="bool", dtypes=FLOAT)
isinf = unary("isinf", "Whether x is infinite.", f.isinf, np.isinf, gives="bool", dtypes=FLOAT)
isfinite = unary(
    "isfinite", "Whether x is neither infinite nor NaN.", f.isfinite, np.isfinite,
    gives="bool", dtypes=FLOAT,
)  # fmt: skip
signbit = unary(
    "signbit", "Whether the sign bit of x is set; it is for -0.0.", f.signbit, np.signbit,
    gives="bool", dtypes=FLOAT,
)  # fmt: skip
logical_not = unary(
    "logical_not", "Whether x is zero.", lambda v: ~truth(v), np.logical_not,
    gives="bool", dtypes=ANY,
)  # fmt: skip
bitwise_not = unary("bitwise_not", "~x: every bit is flipped, a bool is negated.", lambda v: ~v,
                    np.invert, dtypes=WHOLE)  # fmt: skip
