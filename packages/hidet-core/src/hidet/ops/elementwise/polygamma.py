"""The derivatives of digamma."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, arithmetic, elementwise, select
from hidet.compute import functions as f
from hidet.errors import BadArgument
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, constant
from hidet.ops.elementwise.families import REAL, check_dtype, result_type
from hidet.ops.elementwise.special import FAR, digamma, polynomial
from hidet.types import TensorType, f32, f64

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B(2), B(4), ... of the series by Euler and Maclaurin."""


def polygamma(order: int, x: Tensor) -> Tensor:
    """The derivative of digamma(x) of the given order; order 0 is digamma itself.

    At 0 and negative whole numbers it is infinite, with the sign of its values right of them.
    """
    return digamma(x) if order == 0 else apply(Polygamma, x, order=order)


@operator("polygamma")
class Polygamma(Op):
    """A derivative of digamma: (-1)^(n+1) n! times the sum of 1 / (x + k)^(n+1), for n from 1."""

    x: TensorType
    order: int

    within: ClassVar[tuple[float, float]] = (0.3, 9)
    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        if self.order < 1:
            raise BadArgument(f"polygamma of order {self.order}", help="orders count from 0")
        check_dtype(self.name, self.x.dtype, REAL)
        return result_type(self.x.dtype, "float")[self.x.shape]

    def define(self, x: Grid) -> Grid:
        wide = arithmetic(self.infer().dtype)
        found = elementwise(lambda v: self.value(v.cast(wide)), x)
        return found.cast(self.infer().dtype)

    def value(self, v: Expr) -> Expr:
        """Right of zero by the series, left of it by reflection."""
        one = constant(1, v.dtype)
        below = v <= 0
        right = self.right(select(below, one - v, v))
        sign = -1.0 if self.order % 2 else 1.0
        left = right * sign - reflection(v, self.order)
        whole = (v - f.rint(v)).eq(0)
        pole = constant(math.inf if self.order % 2 else -math.inf, v.dtype)
        return select(below, select(whole, pole, left), right)

    def right(self, x: Expr) -> Expr:
        """The series far from zero, to which steps of one lead."""
        n, one, zero = self.order, constant(1, x.dtype), constant(0, x.dtype)
        near = [x + step for step in range(FAR)]
        steps = sum((select(e < FAR, one / power(e, n + 1), zero) for e in near), zero)
        far = x + sum((select(e < FAR, one, zero) for e in near), zero)
        # n! times the terms of the sum from `far` on, whose first factor is 1 / far^n.
        inverse = one / far
        terms = [b * rising(n, 2 * k) / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1)]
        series = polynomial(inverse * inverse, (1 / n, *(each / n for each in terms)))
        tail = power(inverse, n) * (series + inverse * 0.5)
        sign = 1.0 if n % 2 else -1.0
        return (steps + tail) * (sign * math.factorial(n))

    def reference(self, x: Any) -> Any:
        n = self.order
        near = sum(1 / (x + k) ** (n + 1) for k in range(400))
        far = x + 400
        tail = 1 / (n * far**n) + 1 / (2 * far ** (n + 1)) + (n + 1) / (12 * far ** (n + 2))
        return (-1) ** (n + 1) * math.factorial(n) * (near + tail)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 33], 1)
        yield cls(f32[19], 2)
        yield cls(f64[19], 5)


def rising(n: int, k: int) -> float:
    """n (n + 1) ... (n + k - 1)."""
    return float(np.prod([float(n + each) for each in range(k)]))


def power(x: Expr, n: int) -> Expr:
    """x times itself, n of it."""
    found = x
    for _ in range(n - 1):
        found = found * x
    return found


def reflection(v: Expr, order: int) -> Expr:
    """The derivative of pi / tan(pi x), as a polynomial of 1 / tan(pi x)."""
    factors = [0.0, 1.0]
    for _ in range(order):  # that of c^k is -k pi (c^(k-1) + c^(k+1))
        following = [0.0] * (len(factors) + 1)
        for k, factor in enumerate(factors[1:], 1):
            following[k - 1] -= k * factor
            following[k + 1] -= k * factor
        factors = following
    cotangent = 1 / f.tan((v - f.rint(v)) * math.pi)
    return polynomial(cotangent, factors) * math.pi ** (order + 1)
