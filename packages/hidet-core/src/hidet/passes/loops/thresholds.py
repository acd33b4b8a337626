"""Where along a loop a condition on its iteration begins or ceases to hold."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.ir.algebra import simplify_expression
from hidet.ir.expr import And, Const, Expr, FloorDiv, Less, LessEqual, Mul, Var, constant
from hidet.ir.linear import Form, Terms, add, express
from hidet.ir.ranges import unwrapped
from hidet.ir.walk import variables


@dataclass(frozen=True)
class Threshold:
    """A condition holds in all iterations below `limit`, or, if it `begins`, in all from `limit`
    on."""

    limit: Expr
    begins: bool


def threshold(condition: Expr, iteration: Var) -> Threshold | None:
    """The iteration at which a comparison of integers changes; None if it is not of that kind."""
    if not isinstance(condition, Less | LessEqual) or not unwrapped(condition.a.dtype):
        return None
    a, b = without_quotients(condition)
    terms = Terms()
    whole: Form = add(terms.form(a), terms.form(b), -1)
    step = whole.get((iteration,), 0)
    rest = add(whole, {(iteration,): 1}, -step)
    if not step or any(iteration in variables(each) for product in rest for each in product):
        return None
    rest = add(rest, {(): int(isinstance(condition, LessEqual))}, -1)
    # What is left to say: step * iteration + rest < 0.
    over = constant(abs(step), a.dtype)
    if step > 0:
        least = express(add({(): step - 1}, rest, -1), a.dtype)
        return Threshold(simplify_expression(FloorDiv(least, over)), False)
    first = express(add(rest, {(): -step}), a.dtype)
    return Threshold(simplify_expression(FloorDiv(first, over)), True)


def without_quotients(condition: Less | LessEqual) -> tuple[Expr, Expr]:
    """The two sides of a comparison that says the same of what is divided by a number: of integers
    floor(a / c) < b is a < b * c, and a <= floor(b / c) is a * c <= b."""
    a: Expr = condition.a
    b: Expr = condition.b
    if isinstance(condition, Less):
        while isinstance(a, FloorDiv) and isinstance(divisor := a.b, Const) and divisor.value > 0:
            a, b = a.a, Mul(b, divisor)
    else:
        while isinstance(b, FloorDiv) and isinstance(divisor := b.b, Const) and divisor.value > 0:
            a, b = Mul(a, divisor), b.a
    return a, b


def conditions(e: Expr) -> list[Expr]:
    """What all has to hold for a condition to."""
    return [*conditions(e.a), *conditions(e.b)] if isinstance(e, And) else [e]
