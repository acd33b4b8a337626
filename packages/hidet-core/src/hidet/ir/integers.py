"""Simpler expressions of integers: terms collected, quotients and remainders taken apart."""

from __future__ import annotations

import math

from hidet.ir.bounds import Bounds
from hidet.ir.expr import (
    Add,
    Binary,
    Cast,
    Comparison,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Mul,
    Negate,
    ShiftLeft,
    ShiftRight,
    Sub,
    TruncDiv,
    TruncMod,
    constant,
    convert,
)
from hidet.ir.folding import fold, narrow
from hidet.ir.linear import Form, Terms, add, as_int, express, without
from hidet.ir.ranges import unwrapped
from hidet.types import DType


class Integers:
    """Index algebra at one place of a program; operands have been simplified."""

    def __init__(self, bounds: Bounds, terms: Terms) -> None:
        self.bounds, self.terms = bounds, terms

    def simple(self, e: Expr) -> Expr:
        """An operation on integers that are simple."""
        if all(isinstance(child, Const) for child in e.children()):
            return fold(e)
        single = self.bounds.range(e).single
        if single is not None and self.bounds.stable(e):
            return constant(single, e.dtype)
        if not unwrapped(e.dtype):
            return narrow(e)
        match e:
            case Add() | Sub() | Mul() | Negate():
                return self.sum(e)
            case FloorDiv(a, b) | TruncDiv(a, b) if self.rounds_down(e):
                return self.divided(a, b)
            case FloorMod(a, b) | TruncMod(a, b) if self.rounds_down(e):
                return self.remainder(a, b)
            case Minimum(a, b) | Maximum(a, b):
                answer = self.bounds.known(LessEqual(a, b))
                if answer is not None:
                    return a if answer is isinstance(e, Minimum) else b
        return self.shifted(e)

    def shifted(self, e: Expr) -> Expr:
        """A shift by a constant is a multiple or a quotient."""
        match e:
            case ShiftLeft(a, Const(count)) if 0 <= count < e.dtype.bits - 1:
                return self.sum(Mul(a, constant(1 << int(count), e.dtype)))
            case ShiftRight(a, Const(count)) if 0 <= count < e.dtype.bits - 1:
                return self.divided(a, constant(1 << int(count), e.dtype))
        return e

    def rounds_down(self, e: Binary) -> bool:
        """Whether a division rounds down: it says so, or neither operand is negative."""
        if isinstance(e, FloorDiv | FloorMod):
            return True
        return self.bounds.range(e.a).least >= 0 and self.bounds.range(e.b).least >= 0

    def sum(self, e: Expr) -> Expr:
        """A sum, difference or multiple: terms collected, quotients and remainders joined."""
        form = self.joined(self.terms.form(e), e.dtype)
        low, high = e.dtype.limits
        if not all(low <= count <= high for count in form.values()):
            return e
        return express(form, e.dtype)

    def joined(self, form: Form, of: DType) -> Form:
        """`form` with x // c * c + x % c made x, also of narrower numbers that are widened."""
        for product, count in form.items():
            match product:
                case (FloorMod(x, c) | Cast(FloorMod(x, c)),) if x.dtype.bits <= of.bits:
                    by = as_int(self.terms.form(c))
                    quotient = self.terms.form(convert(self.divided(x, c), of))
                    whole = {p: n * count * by for p, n in quotient.items()} if by else None
                    if whole and all(form.get(p) == n for p, n in whole.items()):
                        rest = add(add(form, whole, -1), {product: count}, -1)
                        return self.joined(add(rest, self.terms.form(convert(x, of)), count), of)
        return form

    def divided(self, a: Expr, b: Expr) -> Expr:
        """a // b."""
        form, of = self.terms.form(a), a.dtype
        divisor = self.divisor(b)
        if divisor is None:
            return FloorDiv(a, b)
        factors, count = divisor
        quotient, rest = self.split(form, factors, count)
        if self.inside(rest, b):
            return express(quotient, of)
        if factors:
            tail: Expr = FloorDiv(express(rest, of), b)
        else:
            tail = self.coarse(rest, count, of, FloorDiv)
        return express(add(self.terms.form(tail), quotient), of) if quotient else tail

    def remainder(self, a: Expr, b: Expr) -> Expr:
        """a % b."""
        form, of = self.terms.form(a), a.dtype
        divisor = self.divisor(b)
        if divisor is None:
            return FloorMod(a, b)
        factors, count = divisor
        _, rest = self.split(form, factors, count)
        if self.inside(rest, b):
            return express(rest, of)
        if factors:
            return FloorMod(express(rest, of), b)
        rest = {p: n % count if n > 0 else n for p, n in rest.items()}
        if self.inside(rest, b):
            return express(rest, of)
        return self.coarse(rest, count, of, FloorMod)

    def divisor(self, b: Expr) -> tuple[tuple[Expr, ...], int] | None:
        """`b` as one product times a positive number, if it is that (and positive if symbolic)."""
        form = self.terms.form(b)
        if len(form) != 1:
            return None
        ((factors, count),) = form.items()
        if count <= 0 or (factors and self.bounds.range(b).least < 0):
            return None
        return factors, count

    def split(self, form: Form, factors: tuple[Expr, ...], count: int) -> tuple[Form, Form]:
        """The quotient and the rest of a form by a product: term by term."""
        quotient: dict[tuple[Expr, ...], int] = {}
        rest: dict[tuple[Expr, ...], int] = {}
        for product, n in form.items():
            left = without(product, factors)
            if left is None or n % count:
                rest[product] = n
            else:
                quotient[left] = n // count
        number = rest.get((), 0)
        if not factors and not 0 <= number < count and len(rest) >= 1:
            moved = add(rest, {(): -(number // count) * count})
            if len(moved) <= 1 or self.inside(moved, constant(count, boundless(form))):
                return add(quotient, {(): number // count}), moved
        return quotient, rest

    def inside(self, rest: Form, b: Expr) -> bool:
        """Whether 0 <= rest < b."""
        bounds = self.bounds
        value = express(rest, b.dtype)
        if not rest:
            return True
        within = bounds.range(value)
        size = bounds.range(b)
        if within.least < 0 and not bounds.known(LessEqual(constant(0, b.dtype), value)):
            return False
        return within.most < size.least or bounds.known(Less(value, b)) is True

    def coarse(self, form: Form, count: int, of: DType, kind: type[Binary]) -> Expr:
        """form // count or form % count with a factor of all large terms divided out.

        (g*x + r) // (g*c) is x // c, and (g*x + r) % (g*c) is g*(x % c) + r, if 0 <= r < g.
        """
        counts = {math.gcd(n, count) for p, n in form.items() if p}
        for factor in sorted(counts - {1}, reverse=True):
            large, rest = self.split(form, (), factor)
            if large and self.inside(rest, constant(factor, of)):
                inner = self.nested(express(large, of), count // factor, kind)
                if kind is FloorDiv:
                    return inner
                return express(add(add({}, self.terms.form(inner), factor), rest), of)
        return self.nested(express(form, of), count, kind)

    def nested(self, x: Expr, count: int, kind: type[Binary]) -> Expr:
        """x // count or x % count where x may itself be a quotient or a remainder."""
        of = x.dtype
        if count == 1:
            return x if kind is FloorDiv else constant(0, of)
        match x:
            case FloorDiv(inner, Const(by)) if kind is FloorDiv and by > 0:
                return self.divided(inner, constant(int(by) * count, of))
            case FloorMod(inner, Const(by)) if by > 0 and by % count == 0:
                if kind is FloorMod:
                    return self.remainder(inner, constant(count, of))
                return self.remainder(
                    self.divided(inner, constant(count, of)), constant(int(by) // count, of)
                )
        return kind(x, constant(count, of))

    def balanced(self, e: Comparison) -> Expr:
        """A comparison without what both sides have, and with multiples of one number divided."""
        a, b = self.terms.form(e.a), self.terms.form(e.b)
        common = {p: n for p, n in a.items() if b.get(p) == n}
        a, b = add(a, common, -1), add(b, common, -1)
        if () in a and () in b:  # one side keeps the number, and it is positive there
            rest = b[()] - a[()]
            a = add(a, {(): a[()]}, -1)
            b = add(b, {(): b[()]}, -1)
            a, b = (a, add(b, {(): rest})) if rest >= 0 else (add(a, {(): -rest}), b)
        factor = math.gcd(*a.values(), *b.values())
        if factor > 1:
            a, b = ({p: n // factor for p, n in form.items()} for form in (a, b))
        if a == self.terms.form(e.a) and b == self.terms.form(e.b):
            return e
        return type(e)(express(a, e.a.dtype), express(b, e.a.dtype))


def boundless(form: Form) -> DType:
    """The type of a form's terms."""
    return next(product[0].dtype for product in form if product)
