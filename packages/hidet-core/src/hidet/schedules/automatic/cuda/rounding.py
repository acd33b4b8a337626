"""What of a value matters to no more bits than float16 or bfloat16 have."""

from __future__ import annotations

from hidet.ir.expr import Cast, Div, Expr, Math, Mul
from hidet.ir.functions import NEAR
from hidet.ir.walk import find
from hidet.types import bf16, f16

NARROW = f16, bf16


def only_rounded(value: Expr, parts: set[Expr]) -> bool:
    """Whether `value` has `parts` only as factors and divisors of what it rounds to so few bits:
    these pass on a relative error as it is, where a sum may cancel."""
    match value:
        case Cast(of) if value.to in NARROW and factors(of, parts):
            return True
        case Math(name, (of,)) if name in NEAR.values() and factors(of, parts):
            return True
    children = (each for each in value.children() if isinstance(each, Expr))
    return value not in parts and all(only_rounded(each, parts) for each in children)


def factors(e: Expr, parts: set[Expr]) -> bool:
    """Whether `e` is a product or quotient of `parts` and of what has none of them."""
    match e:
        case Mul(a, b) | Div(a, b):
            return factors(a, parts) and factors(b, parts)
    return e in parts or parts.isdisjoint(find(e, Expr))
