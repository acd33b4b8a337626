"""Sums of products: what sizes are brought to, and their arithmetic.

Nothing here knows what an atom means; `sizes` does.
"""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

from hidet.ir.expr import Expr
from hidet.types import Size

Terms: TypeAlias = dict[tuple[Expr, ...], int]
"""A sum: for each product of atoms its integer factor; the empty product is the constant."""


def total(a: Terms, b: Terms) -> Terms:
    """a + b, without terms that vanish."""
    out = dict(a)
    for key, count in b.items():
        out[key] = out.get(key, 0) + count
    return {key: count for key, count in out.items() if count}


def scaled(a: Terms, factor: int) -> Terms:
    """a * factor."""
    return {key: count * factor for key, count in a.items() if factor}


def multiplied(a: Terms, b: Terms) -> Terms:
    """a * b."""
    out: Terms = {}
    for left, m in a.items():
        for right, n in b.items():
            out = total(out, {tuple(sorted(left + right, key=str)): m * n})
    return out


def leading(sum_: Terms) -> tuple[tuple[Expr, ...], int]:
    """The term of a sum with most atoms, the last one of these by their names."""
    return max(sum_.items(), key=lambda term: (len(term[0]), [*map(str, term[0])]))


def term_quotient(
    term: tuple[tuple[Expr, ...], int], by: tuple[tuple[Expr, ...], int]
) -> Terms | None:
    """One term divided by another, if that leaves nothing."""
    rest, count = list(term[0]), term[1]
    for atom in by[0]:
        if atom not in rest:
            return None
        rest.remove(atom)
    return None if count % by[1] else {tuple(rest): count // by[1]}


def as_expr(size: Size) -> Expr:
    """A size as an expression; only for sums known to hold a symbol."""
    if isinstance(size, int):
        raise TypeError(f"{size} has no symbol")
    return size


def built(sum_: Terms) -> Size:
    """The sum as a size, its terms in a fixed order."""
    out: Size = 0
    for key in sorted(sum_, key=lambda atoms: (-len(atoms), str(atoms))):
        factor = sum_[key]
        if not key:
            out = out + factor
            continue
        term: Expr = reduce(lambda x, y: x * y, key)
        term = term if abs(factor) == 1 else term * abs(factor)
        if isinstance(out, int) and out == 0:
            out = term if factor > 0 else -term
        else:
            out = out + term if factor > 0 else out - term
    return out
