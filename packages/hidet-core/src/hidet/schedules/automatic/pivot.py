"""Sums about what their values have in common: of powers below the greatest, of squares about the
mean.

Whoever has a part of the values can sum about that part's own centre, since sums move to another:

    exp(x - b) = exp(x - a) exp(a - b)                    a, b: the greatest x of a part, of all
    sum (x - b)^2 = sum (x - a)^2 + n (a - b)^2           a, b: the mean of a part's n, of all

So parts merge without knowing the centre of all beforehand, and nothing cancels: a power is at most
one, what a square gains is no less than zero. Chan, Golub, LeVeque: Updating Formulae and a
Pairwise Algorithm for Computing Sample Variances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import e, log2

from hidet.compute import Reduce
from hidet.compute.sizes import product
from hidet.ir.expr import Const, Div, Expr, Math, Maximum, Mul, Select, Sub, constant
from hidet.ir.functions import call
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import constant_size
from hidet.types import f32

LOG2_E = log2(e)


@dataclass(frozen=True)
class Pivot(ABC):
    """`total` sums a function of how far values are from a centre, which `first` tells."""

    first: Reduce
    total: Reduce
    centre: Expr
    """The centre of all values, in terms of `first`."""

    def about(self, centre: Expr) -> Expr:
        """What `total` sums, seen from another centre."""
        return replaced(self.total.value, {self.centre: centre})

    @abstractmethod
    def own(self, found: Expr, count: Expr) -> Expr:
        """The centre of a part of `count` values, of which `first` has `found`."""

    @abstractmethod
    def usable(self, centre: Expr) -> Expr:
        """The same as a number that a part's values can be seen from."""

    @abstractmethod
    def moved(self, total: Expr, a: Expr, b: Expr, count: Expr) -> Expr:
        """The sum about `b` of `count` values whose sum about their own centre `a` is `total`."""

    def each(self, value: Expr, a: Expr, b: Expr) -> Expr | None:
        """What is summed of one value, seen from `b`, of the same seen from `a`; None if that is
        worth nothing."""
        return None

    def rough(self, value: Expr) -> Expr:
        """What is summed of one value to 16 bits, if that is less work."""
        return value

    def flushed(self, value: Expr) -> Expr:
        """What is summed of one value, with 0 for what is less than the least normal number."""
        return value


class Powers(Pivot):
    """The sum of exp(x - the greatest x)."""

    def own(self, found: Expr, count: Expr) -> Expr:
        return found

    def usable(self, centre: Expr) -> Expr:
        """Of nothing but -inf the sum is 0, not that of exp(-inf - -inf)."""
        lowest = self.first.identity
        return Select(centre.eq(lowest), constant(0, centre.dtype), centre)

    def moved(self, total: Expr, a: Expr, b: Expr, count: Expr) -> Expr:
        return total * Math("exp", (a - b,), total.dtype)

    def each(self, value: Expr, a: Expr, b: Expr) -> Expr | None:
        return self.moved(value, a, b, constant(1, value.dtype))

    def rough(self, value: Expr) -> Expr:
        """What is less than the least normal number, where the greatest is 1, becomes zero."""
        match value:
            case Math("exp", (x,)) if x.dtype is f32:
                return call("exp2_approx", x * LOG2_E)
        return value

    def flushed(self, value: Expr) -> Expr:
        """Where the greatest is 1, nobody misses such a power."""
        match value:
            case Math("exp", (x,)) if x.dtype is f32:
                return call("exp_nonpositive", x)
        return value


class Squares(Pivot):
    """The sum of (x - the mean of x) squared."""

    def own(self, found: Expr, count: Expr) -> Expr:
        return found / Maximum(count, constant(1, count.dtype))

    def usable(self, centre: Expr) -> Expr:
        return centre

    def moved(self, total: Expr, a: Expr, b: Expr, count: Expr) -> Expr:
        return total + count * ((a - b) * (a - b))


def pivot_of(total: Expr) -> Pivot | None:
    """How a reduction is such a sum, if it is one."""
    match total:
        case Reduce(_, _, Math("exp", (Sub(x, Reduce() as first),)), "sum"):
            if first.how == "max" and of_the_same(first, total, x):
                return Powers(first, total, first)
        case Reduce(_, _, Mul(Sub(x, Div(Reduce() as first, Const(count)) as mean) as a, b), "sum"):
            whole = constant_size(product(total.extents)) == count
            if a is b and first.how == "sum" and whole and of_the_same(first, total, x):
                return Squares(first, total, mean)
    return None


def of_the_same(first: Reduce, total: Reduce, x: Expr) -> bool:
    """Whether `first` reduces `x` over the same places as `total`."""
    names = dict(zip(first.vars, total.vars, strict=False))
    return first.extents == total.extents and substitute(first.value, names) is x
