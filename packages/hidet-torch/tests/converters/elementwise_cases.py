"""Functions of elements: of one tensor, of several, activations."""

from __future__ import annotations

import torch
from case import NAN, b, case, i8, i32, n, u8, x
from torch.nn import functional as F

from hidet_torch.converters.polynomials import FAMILIES

# Unary
for _name in [
    "abs",
    "neg",
    "exp",
    "exp2",
    "expm1",
    "erf",
    "erfc",
    "sigmoid",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "floor",
    "ceil",
    "trunc",
    "round",
    "sign",
    "square",
    "relu",
    "signbit",
    "isnan",
    "isinf",
    "isfinite",
    "frac",
    "sgn",
]:
    case(_name, getattr(torch, _name), x(3, 5))
for _name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]:
    case(_name, getattr(torch, _name), x(3, 5, low=0.2))
for _name in ["asin", "acos", "atanh"]:
    case(_name, getattr(torch, _name), x(7, low=-0.9, high=0.9))
case("acosh", torch.acosh, x(7, low=1.1))
case("erfinv", torch.erfinv, x(7, low=-0.99, high=0.99))
for _name in [
    "i0",
    "i0e",
    "i1",
    "i1e",
    "erfcx",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]:
    case(_name, getattr(torch.special, _name), x(7, low=0.1, high=11))
for _name in ["i0", "i0e", "i1", "i1e", "erfcx", "spherical_bessel_j0"]:
    case(f"{_name} below zero", getattr(torch.special, _name), x(7, low=-3, high=0))
for _order in range(5):
    case(f"polygamma {_order}", lambda a, n=_order: torch.polygamma(n, a), x(7, low=0.2, high=9))
case("polygamma below zero", lambda a: torch.polygamma(1, a), torch.tensor([-0.3, -2.5, -7.7]))
case("angle", torch.angle, NAN)
case("angle of integers", torch.angle, n(5))
for _name in FAMILIES:
    _function = getattr(torch.special, _name)
    case(_name, _function, x(5, 1, low=-1.5, high=1.5), torch.tensor([-1.0, 0, 1.7, 2, 9]))
    case(f"{_name} of one degree", lambda a, f=_function: f(a, 7), x(3))
    case(f"{_name} at one place", lambda a, f=_function: f(0.3, a), torch.tensor([0.0, 3, 6]))
    case(f"{_name} of nothing", _function, x(0), x(0))
for _name in ["lgamma", "digamma"]:
    case(_name, getattr(torch, _name), x(7, low=0.2, high=9))
for _name in [
    "abs",
    "neg",
    "floor",
    "ceil",
    "sign",
    "relu",
    "exp",
    "sin",
    "sqrt",
    "isnan",
    "isinf",
    "bitwise_not",
    "logical_not",
]:
    case(f"{_name} of integers", getattr(torch, _name), n(3, 5, low=1))
case("relu keeps nan", torch.relu, NAN)
case("sign of zero dimensions", torch.sign, torch.tensor(-2.5))
for _name in ["abs", "exp", "relu", "neg"]:
    case(f"{_name} of nothing", getattr(torch, _name), x(0, 4))
case("round decimals", lambda a: torch.round(a, decimals=2), x(9))

# Arithmetic
case("add alpha", lambda a, c: torch.add(a, c, alpha=2), x(3, 5), x(5))
case("add integers alpha", lambda a, c: torch.add(a, c, alpha=3), n(3, 5), n(5))
case("add float number to integers", lambda a: a + 2.5, n(4))
case("add integer to bools", lambda a: a + 1, b(6))
case("add bools", lambda a, c: a + c, b(6), b(6))
case("add 0-d double", lambda a, c: a + c, x(4), torch.tensor(1.5, dtype=torch.float64))
case("add 0-d float to integers", lambda a, c: a + c, n(4), torch.tensor(1.5))
case("add int32 and int64", lambda a, c: a + c, n(4, dtype=i32), n(4))
case("add uint8 and int8", lambda a, c: a + c, n(4, low=0, dtype=u8), n(4, dtype=i8))
case("sub alpha", lambda a, c: torch.sub(a, c, alpha=0.5), x(3, 5), x(3, 1))
case("rsub", lambda a: 3 - a, x(4))
case("rsub alpha", lambda a, c: torch.rsub(a, c, alpha=2), x(4), x(4))
case("mul", torch.mul, x(2, 1, 3), x(4, 1))
case("mul bools", torch.mul, b(6), b(6))
case("mul bool with float", torch.mul, b(6), x(6))
case("div", torch.div, x(5), x(5, low=1))
case("true_divide", torch.true_divide, x(5), x(5, low=1))
case("true_divide by a number", lambda a: torch.true_divide(a, 3), n(5))
case("div integers", torch.div, n(5), n(5, low=1))
case("div number", lambda a: a / 3, n(5))
for _mode in ("floor", "trunc"):
    for _signs in ((7, -7, 7, -7), (8, -8, 8, -8)):
        case(
            f"div integers {_mode} {_signs[0]}",
            lambda a, c, mode=_mode: torch.div(a, c, rounding_mode=mode),
            torch.tensor(_signs),
            torch.tensor([2, 2, -2, -2]),
        )
    case(
        f"div floats {_mode}",
        lambda a, c, mode=_mode: torch.div(a, c, rounding_mode=mode),
        x(9),
        x(9, low=0.5),
    )
case("floor_divide", torch.floor_divide, n(9), torch.tensor([2, -2, 3, -3, 4, -4, 5, -5, 1]))
case("remainder", torch.remainder, n(9), torch.tensor([2, -2, 3, -3, 4, -4, 5, -5, 1]))
case("remainder floats", torch.remainder, x(9), x(9, low=0.5))
case("remainder number", lambda a: a % -4, n(9))
case("fmod", torch.fmod, n(9), torch.tensor([2, -2, 3, -3, 4, -4, 5, -5, 1]))
case("fmod floats", lambda a: torch.fmod(a, -0.7), x(9))
for _power in (2, 3, 0.5, -0.5, -1, 1, 0, 2.5):
    case(f"pow {_power}", lambda a, p=_power: torch.pow(a, p), x(6, low=0.3))
case("pow integers", lambda a: torch.pow(a, 3), n(6))
case("pow tensors", torch.pow, x(6, low=0.3), x(6))
case("pow of number", lambda a: torch.pow(2.0, a), x(6))
case("maximum nan", torch.maximum, NAN, x(6))
case("minimum nan", torch.minimum, NAN, x(6))
case("fmax nan", torch.fmax, NAN, x(6))
case("fmin nan", torch.fmin, NAN, x(6))
case("atan2", torch.atan2, x(5), x(5))
case("hypot", torch.hypot, x(5), x(5))
case("copysign", torch.copysign, x(5), x(5))
for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    _function = getattr(torch, _name)
    case(_name, _function, n(9, low=0, high=3), n(9, low=0, high=3))
    case(f"{_name} number", lambda a, f=_function: f(a, 1.5), NAN)
for _name in ["logical_and", "logical_or", "logical_xor"]:
    case(_name, getattr(torch, _name), n(9, low=0, high=2), b(9))
for _name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    case(_name, getattr(torch, _name), n(9), n(9))
    case(f"{_name} bools", getattr(torch, _name), b(9), b(9))
case("shifts", lambda a: (a << 2, a >> 1), n(9))
case("where", torch.where, b(5), x(3, 5), x(5))
case("where number", lambda c, a: torch.where(c, a, 0.5), b(5), n(5))
case("where mixed", torch.where, b(5), n(5), x(5))
case("masked_fill", lambda a, m: a.masked_fill(m, float("-inf")), x(5), b(5))
case("clamp", lambda a: a.clamp(-1, 1.5), NAN)
case("clamp low", lambda a: a.clamp(min=0), x(6))
case("clamp high", lambda a: a.clamp(max=0), n(6))
case("clamp integers by floats", lambda a: a.clamp(-1.5, 2.5), n(6))
case("clamp crossed", lambda a: a.clamp(2, -1), x(6))
case("clamp tensors", torch.clamp, NAN, x(6, high=0), x(6, low=0))
case("clamp tensor none", lambda a, c: torch.clamp(a, max=c), x(6), x(6))
case("lerp", lambda a, c: torch.lerp(a, c, 0.3), x(6), x(6))
case("addcmul", lambda a, c, d: torch.addcmul(a, c, d, value=0.5), x(6), x(6), x(6))
case("addcdiv", lambda a, c, d: torch.addcdiv(a, c, d, value=0.5), x(6), x(6), x(6, low=1))
case("nan_to_num", torch.nan_to_num, x(6))
case("to int", lambda a: a.to(i32), x(6))
case("to bool", lambda a: a.to(torch.bool), n(6, low=0, high=2))
case("to float", lambda a: a.float(), n(6))

# Activations
for _name in [
    "relu6",
    "silu",
    "mish",
    "hardswish",
    "hardsigmoid",
    "elu",
    "selu",
    "celu",
    "leaky_relu",
    "softplus",
    "hardtanh",
    "logsigmoid",
    "softsign",
    "tanhshrink",
    "hardshrink",
    "softshrink",
    "gelu",
]:
    case(_name, getattr(F, _name), x(4, 6, low=-6, high=6))
case("gelu tanh", lambda a: F.gelu(a, approximate="tanh"), x(4, 6))
case("glu", lambda a: F.glu(a, 1), x(4, 6))
case("prelu", F.prelu, x(2, 3, 4), x(3))
case("threshold", lambda a: F.threshold(a, 0.1, 20), x(6))
case("softplus beta", lambda a: F.softplus(a, 2.0, 1.0), x(6))

WHOLE = torch.tensor([0, 0, 12, -12, 18, 1, 97, 2**40])
case("gcd", torch.gcd, WHOLE[:, None], n(8))
case("gcd of zeros", torch.gcd, torch.zeros(3, dtype=torch.int64), torch.tensor([0, 5, -5]))
case("gcd of bytes", torch.gcd, n(9, low=0, high=100, dtype=u8), n(9, low=1, high=100, dtype=u8))
case("gcd of nothing", torch.gcd, n(0), n(0))
case("lcm", torch.lcm, WHOLE[:-1, None], n(8))
TINY = torch.tensor([0.0, -0.0, 1e-45, -1e-40, 1.0, -1.5, 2.0, 3e38])
case("frexp", torch.frexp, torch.cat([TINY, x(40) * 100]))
case("frexp of halves", torch.frexp, x(9).half())
case("next numbers of float64", torch.nextafter, x(9).double(), x(9).double())

SHARES = torch.tensor([0.0, 1e-30, 1e-6, 0.02, 0.3, 0.5, 0.7, 0.99, 1.0, -0.5, 1.5, float("nan")])
case("ndtri", torch.special.ndtri, torch.cat([SHARES, x(40, low=0, high=1)]))
case("ndtri of integers", torch.special.ndtri, torch.tensor([0, 1, 2]))
STARTS = torch.tensor([0.25, 1.0, 3.5, 17.0, 1000.0, 0.0, -2.0, -1.5, float("nan")])
POWERS = torch.tensor([1.01, 1.0, 0.5, 2.0, 2.5, 3.0, 9.0, 60.0, float("nan")])
case("zeta", torch.special.zeta, POWERS[:, None], STARTS)
case("zeta of a number", lambda q: torch.special.zeta(3, q), x(9, low=0.1, high=20))
case("zeta from a number", lambda s: torch.special.zeta(s, 2.0), x(9, low=1.1, high=20))
ORDERS = torch.tensor([0.0, 1e-3, 0.5, 1.0, 4.0, 30.0, 900.0, float("inf"), -1.0, float("nan")])
for _gamma in (torch.special.gammainc, torch.special.gammaincc):
    case(_gamma.__name__, _gamma, ORDERS[:, None], ORDERS + 0.125)
    case(f"{_gamma.__name__} of equals", _gamma, ORDERS, ORDERS)
    case(f"{_gamma.__name__} of nothing", _gamma, x(0), x(0))
