"""Many divisions by one number as one division and many products, where that is safe.

a / s becomes a * (1 / s), off by at most 1.5 units in the last place instead of half of one. The
reciprocal must neither overflow nor lose bits: s is the sum of a softmax, powers of which the
largest is exp(0), so that it is between one and the number of elements, or NaN.
"""

from __future__ import annotations

from hidet.compute import Reduce
from hidet.ir.expr import Div, Expr, Mul, constant
from hidet.schedules.automatic.pivot import Powers, pivot_of


def by_reciprocals(value: Expr) -> Expr:
    """`value` with such divisions replaced."""
    done: dict[Expr, Expr] = {}

    def visit(e: Expr) -> Expr:
        if e not in done:
            match e:
                case Div(a, Reduce() as total) if isinstance(pivot_of(total), Powers):
                    done[e] = Mul(visit(a), Div(constant(1, total.dtype), total))
                case _:
                    done[e] = e.map_children(visit)
        return done[e]

    return visit(value)
