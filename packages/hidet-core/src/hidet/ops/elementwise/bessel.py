"""Modified Bessel functions, their scaled forms, and the spherical one of order 0.

Near zero they are power series, whose terms are positive: nothing cancels out. Far from it they are
polynomials of 1/x (t, which runs from -1 to 1), fitted to 17 digits at the nodes of Chebyshev.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hidet.compute import functions as f
from hidet.compute import select
from hidet.ir.expr import Expr, constant
from hidet.ops.elementwise.families import UnaryFunction, unary
from hidet.ops.elementwise.special import each, polynomial

TERMS = 28
"""Terms after which the series of I at 8 has no further digits in float64."""
I0_NEAR = tuple(1 / math.factorial(k) ** 2 for k in range(TERMS))
I1_NEAR = tuple(1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(TERMS))
"""The factors of (x/2)^2k in I0, and in I1 over x/2."""
SLOPES = tuple(sum((1 / j for j in range(1, k + 1)), -0.5772156649015329) for k in range(16))
"""The slopes of log(gamma) at k + 1: they are 1/k apart."""
K0_NEAR = tuple(s / math.factorial(k) ** 2 for k, s in enumerate(SLOPES[:15]))
K1_NEAR = tuple(
    -(SLOPES[k] + SLOPES[k + 1]) / (2 * math.factorial(k) * math.factorial(k + 1))
    for k in range(15)
)
"""What K0 has beside -log(x/2) I0; and K1, over x/2, beside log(x/2) I1 + 1/x."""
I0_FAR = (
    0.40217650944500809, 0.0033605519836678912, 0.00013621607438951464, 1.114303378845176e-5,
    1.4838476780922645e-6, 2.9735992084667733e-7, 8.872014585661555e-8, 3.9325123211378244e-8,
    2.1567806761156731e-8, 7.5593640986654369e-9, -6.8564845459624424e-9, -1.3427511481900906e-8,
    -5.0175940345046713e-9, 7.6002544864335085e-9, 6.5222648620322706e-9, -3.5862834111582307e-9,
    -4.5305710768621193e-9, 1.6084886155781771e-9, 2.1636812784138757e-9, -6.3279099219970271e-10,
    -6.4945911144011185e-10, 1.7698085539456535e-10, 9.1147601575142527e-11,
    -2.4421972688131831e-11,
)  # fmt: skip
I1_FAR = (
    0.38939845902587232, -0.0097495771932357643, -0.00021923576383137776, -1.5038547198221759e-5,
    -1.8349102493990177e-6, -3.4838563464253133e-7, -1.0001075046243961e-7,
    -4.3128498031006731e-8, -2.3394122958362557e-8, -8.4321689729324167e-9, 6.84757829926934e-9,
    1.4051746928735543e-8, 5.5720183980930357e-9, -7.6872513087659921e-9, -6.9444186339873876e-9,
    3.501765193290176e-9, 4.7637800780202541e-9, -1.5218214060680733e-9, -2.2624401109204447e-9,
    5.8706646184714864e-10, 6.7727478454462001e-10, -1.6283264322621244e-10,
    -9.4918903929920484e-11, 2.2421768596847443e-11,
)  # fmt: skip
K0_FAR = (
    1.2185953385133905, -0.031071461824889557, 0.0030328918102738114, -0.00047976905676218693,
    9.9560547492220719e-5, -2.4735204685849812e-5, 7.0022443033305485e-6, -2.1911760135022577e-6,
    7.4279306628493147e-7, -2.6892080372518765e-7, 1.0288069483966884e-7, -4.1269185222914832e-8,
    1.7312995045968195e-8, -7.512457819393254e-9, 3.1783612286634932e-9, -1.4404758651443359e-9,
    1.0450469654372086e-9, -5.4181344457802146e-10, -2.2963050528305241e-10,
    1.5340126238605654e-10, 3.796424611822554e-10, -2.2303328496385004e-10,
    -1.5419231423351581e-10, 9.2394927197350168e-11, 4.3907548527099426e-11,
    -2.5824525015637538e-11,
)  # fmt: skip
K1_FAR = (
    1.363151890371342, 0.10334973775386527, -0.005566729880072949, 0.000735724154903766,
    -0.00013959021964084849, 3.2843865693084672e-5, -8.9612059296117846e-6, 2.7300395099897759e-6,
    -9.0672282208021463e-7, 3.2299656201592409e-7, -1.2195189445421298e-7, 4.8386021364989066e-8,
    -2.0105919367047817e-8, 8.6544625409063925e-9, -3.6475900600687235e-9, 1.644089713355689e-9,
    -1.166820125045468e-9, 6.0143605738645878e-10, 2.4207625348015332e-10,
    -1.6272853347015718e-10, -4.125814776056068e-10, 2.4182967169209885e-10,
    1.6685782786246504e-10, -9.9828561175240156e-11, -4.7692737490629827e-11,
    2.7995703082404278e-11,
)  # fmt: skip


def i_of(order: int, scaled: bool) -> Callable[[Expr], Expr]:
    """I0 or I1, or these times exp(-|x|)."""
    near, far = (I1_NEAR, I1_FAR) if order else (I0_NEAR, I0_FAR)

    def value(v: Expr) -> Expr:
        x = f.absolute(v)
        half = x * 0.5
        series = polynomial(half * half, near)
        beyond = polynomial(constant(16, v.dtype) / x - 1, far) / f.sqrt(x)
        if scaled:
            series = series * f.exp(-x)
        else:
            beyond = f.exp(x) * beyond
        found = select(x < 8, series * half if order else series, beyond)
        return f.copysign(found, v) if order else found

    return value


def k_of(order: int, scaled: bool) -> Callable[[Expr], Expr]:
    """K0 or K1, or these times exp(x); infinite at 0, NaN below."""

    def value(v: Expr) -> Expr:
        half = v * 0.5
        square, logarithm = half * half, f.log(half)
        if order == 0:
            near = polynomial(square, K0_NEAR) - logarithm * polynomial(square, I0_NEAR[:15])
        else:
            rest = polynomial(square, K1_NEAR) + logarithm * polynomial(square, I1_NEAR[:15])
            near = constant(1, v.dtype) / v + half * rest
        t = constant(4, v.dtype) / v - 1
        far = polynomial(t, K1_FAR if order else K0_FAR) / f.sqrt(v)
        found = (
            select(v <= 2, near * f.exp(v), far)
            if scaled
            else select(v <= 2, near, far * f.exp(-v))
        )
        edge = select(v.eq(0), constant(math.inf, v.dtype), constant(math.nan, v.dtype))
        return select(v > 0, found, select(f.isnan(v), v, edge))

    return value


def spherical(v: Expr) -> Expr:
    """sin(x) / x, by its series near zero."""
    x = f.absolute(v)
    series = polynomial(v * v, tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(8)))
    found = select(x < 0.5, series, f.sin(v) / v)
    return select(f.isinf(v), constant(0, v.dtype), found)


# ---- the same in float64, by integrals -----------------------------------------------------------

CIRCLE = np.linspace(0, 2 * np.pi, 256, endpoint=False)
LINE = np.arange(0, 12, 1 / 64)


def i_integral(order: int, scaled: bool) -> Callable[[float], float]:
    """A mean over a turn."""

    def value(x: float) -> float:
        size = abs(x)
        found = float(np.mean(np.exp(size * (np.cos(CIRCLE) - 1)) * np.cos(order * CIRCLE)))
        found = found if scaled else found * math.exp(size)
        return math.copysign(found, x) if order else found

    return value


def k_integral(order: int, scaled: bool) -> Callable[[float], float]:
    """An integral over half a line, by equal steps: what it is of is flat at its start."""

    def value(x: float) -> float:
        if x <= 0:
            return math.inf if x == 0 else math.nan
        terms = np.exp(-x * (np.cosh(LINE) - 1)) * np.cosh(order * LINE)
        found = float(terms.sum() - terms[0] / 2) / 64
        return found if scaled else found * math.exp(-x)

    return value


def declared_i(name: str, doc: str, order: int, *, scaled: bool) -> UnaryFunction:
    """The operator of I0 or I1."""
    return unary(
        name, doc, i_of(order, scaled), each(i_integral(order, scaled)),
        gives="float", within=(-12, 12), factor=64, continuous=True,
    )  # fmt: skip


def declared_k(name: str, doc: str, order: int, *, scaled: bool) -> UnaryFunction:
    """The operator of K0 or K1."""
    return unary(
        name, doc, k_of(order, scaled), each(k_integral(order, scaled)),
        gives="float", within=(0.1, 12), factor=64, continuous=True,
    )  # fmt: skip


modified_bessel_i0 = declared_i(
    "modified_bessel_i0",
    "The modified Bessel function of the first kind, of order 0.",
    0, scaled=False,
)  # fmt: skip
modified_bessel_i1 = declared_i(
    "modified_bessel_i1",
    "The modified Bessel function of the first kind, of order 1.",
    1, scaled=False,
)  # fmt: skip
scaled_modified_bessel_i0 = declared_i(
    "scaled_modified_bessel_i0",
    "The modified Bessel function of the first kind, of order 0, times exp(-|x|).",
    0, scaled=True,
)  # fmt: skip
scaled_modified_bessel_i1 = declared_i(
    "scaled_modified_bessel_i1",
    "The modified Bessel function of the first kind, of order 1, times exp(-|x|).",
    1, scaled=True,
)  # fmt: skip
modified_bessel_k0 = declared_k(
    "modified_bessel_k0",
    "The modified Bessel function of the second kind, of order 0; NaN below 0.",
    0, scaled=False,
)  # fmt: skip
modified_bessel_k1 = declared_k(
    "modified_bessel_k1",
    "The modified Bessel function of the second kind, of order 1; NaN below 0.",
    1, scaled=False,
)  # fmt: skip
scaled_modified_bessel_k0 = declared_k(
    "scaled_modified_bessel_k0",
    "The modified Bessel function of the second kind, of order 0, times exp(x); NaN below 0.",
    0, scaled=True,
)  # fmt: skip
scaled_modified_bessel_k1 = declared_k(
    "scaled_modified_bessel_k1",
    "The modified Bessel function of the second kind, of order 1, times exp(x); NaN below 0.",
    1, scaled=True,
)  # fmt: skip
spherical_bessel_j0 = unary(
    "spherical_bessel_j0", "sin(x) / x, which is 1 at 0.", spherical,
    lambda x: np.sinc(x / np.pi), gives="float", within=(-9, 9), factor=16, continuous=True,
)  # fmt: skip
