"""Simpler expressions of the same value: index algebra, folding of constants, decided conditions.

Results of floating-point operations are never changed, not in one bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hidet.ir.bounds import Bounds, is_integer
from hidet.ir.expr import (
    And,
    Binary,
    BitNot,
    Cast,
    Comparison,
    Const,
    Equal,
    Expr,
    Less,
    LessEqual,
    Negate,
    Not,
    NotEqual,
    Or,
    Select,
    Unary,
    constant,
)
from hidet.ir.folding import cast, floating, fold
from hidet.ir.integers import Integers
from hidet.ir.linear import Terms
from hidet.ir.ranges import unwrapped
from hidet.types import DType, boolean

TRUE, FALSE = Const(True, boolean), Const(False, boolean)


def simplify_expression(e: Expr, bounds: Bounds | None = None) -> Expr:
    """`e` in a simpler form that has the same value wherever `bounds` hold."""
    return Algebra(bounds or Bounds()).simplify(e)


class Algebra:
    """Simplifies expressions at one place of a program, where `values` stand for variables."""

    def __init__(
        self,
        bounds: Bounds,
        order: dict[Expr, int] | None = None,
        values: Mapping[Expr, Expr] | None = None,
    ) -> None:
        self.bounds = bounds
        self.integers = Integers(bounds, Terms(order))
        self.values: Mapping[Expr, Expr] = {} if values is None else values
        self.done: dict[Expr, Expr] = {}
        self.places: dict[Bounds, Algebra] = {bounds: self}

    def at(self, bounds: Bounds) -> Algebra:
        """The algebra of another place of the same program."""
        found = self.places.get(bounds)
        if found is None:
            found = self.places[bounds] = Algebra(bounds, None, self.values)
            found.integers = Integers(bounds, self.integers.terms)
            found.places = self.places
        return found

    def simplify(self, e: Expr) -> Expr:
        """`e` in its simplest form, operands first."""
        done = self.done
        known = done.get(e)
        if known is not None:
            return known
        pending = [e]
        while pending:  # without recursion: sums may be long
            current = pending[-1]
            if current in done:
                pending.pop()
                continue
            if current not in self.values:
                missing = [c for c in certain(current) if c not in done]
                if missing:
                    pending += missing
                    continue
            pending.pop()
            done[current] = found = self.once(current)
            done[found] = found
        return done[e]

    def once(self, e: Expr) -> Expr:
        """`e` in its simplest form, if its operands have been simplified."""
        return self.values[e] if e in self.values else self.top(self.operands(e))

    def operands(self, e: Expr) -> Expr:
        """`e` with simple operands; what is evaluated under a condition may use it."""
        match e:
            case Select(condition, then, otherwise):
                chosen = self.simplify(condition)
                match self.bounds.known(chosen):
                    case True:
                        return self.simplify(then)
                    case False:
                        return self.simplify(otherwise)
                return Select(
                    chosen, self.under(chosen, True, then), self.under(chosen, False, otherwise)
                )
            case And(a, b) | Or(a, b):
                first = self.simplify(a)
                return type(e)(first, self.under(first, isinstance(e, And), b))
        return e.map_children(self.simplify)

    def under(self, condition: Expr, holds: bool, e: Expr) -> Expr:
        """`e`, simplified where `condition` holds (or does not)."""
        if isinstance(condition, Const) or not e.children():
            return self.simplify(e)
        return self.at(self.bounds.assume(condition, holds)).simplify(e)

    def top(self, e: Expr) -> Expr:
        """`e`, whose operands are simple, with its own operation simplified."""
        match e:
            case Select(condition, then, otherwise):
                return self.select(e, condition, then, otherwise)
            case Cast(value, to):
                return cast(e, value, to)
            case Not(a):
                return self.negation(e, a)
            case And(a, b) | Or(a, b):
                return self.logic(e, a, b)
            case Comparison():
                return self.comparison(e)
            case Binary() | Negate() | BitNot() if is_integer(e):
                return self.integers.simple(e)
            case Binary() | Unary():
                return floating(e)
        return e

    # ---- conditions -----------------------------------------------------------------------------

    def select(self, e: Expr, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        """A choice."""
        if then is otherwise:
            return then
        match condition:
            case Const(value):
                return then if value else otherwise
            case Not(a):
                return Select(a, otherwise, then)
        if then is TRUE and otherwise is FALSE:
            return condition
        return e

    def negation(self, e: Expr, a: Expr) -> Expr:
        """Not of a simple condition; comparisons of integers are turned around."""
        match a:
            case Const(value):
                return FALSE if value else TRUE
            case Not(inner):
                return inner
            case Equal(x, y):
                return NotEqual(x, y)
            case NotEqual(x, y):
                return Equal(x, y)
            case Less(x, y) if is_integer(x):
                return LessEqual(y, x)
            case LessEqual(x, y) if is_integer(x):
                return Less(y, x)
        return e

    def logic(self, e: Expr, a: Expr, b: Expr) -> Expr:
        """And, or."""
        decisive = isinstance(e, Or)
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Const) and isinstance(one.of, DType):
                if bool(one.value) is not decisive:
                    return other
                if one is a:
                    return one
        if isinstance(b, Const):  # `a and False`: a is pure, its value does not matter
            return b
        if a is b:
            return a
        answer = self.bounds.known(e)
        return e if answer is None else constant(answer, boolean)

    def comparison(self, e: Comparison) -> Expr:
        """A comparison: decided if it can be, its common part taken away."""
        if isinstance(e.a, Const) and isinstance(e.b, Const):
            return fold(e)
        if not is_integer(e.a):
            return e
        answer = self.bounds.known(e)
        if answer is not None:
            return constant(answer, boolean)
        if not unwrapped(e.a.dtype):
            return e
        return self.integers.balanced(e)


def certain(e: Expr) -> tuple[Any, ...]:
    """The operands of `e` that are evaluated whenever `e` is."""
    if isinstance(e, Select):
        return (e.condition,)
    return (e.a,) if isinstance(e, And | Or) else e.children()
