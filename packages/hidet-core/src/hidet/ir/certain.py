"""What is evaluated whatever the conditions turn out to be, and what may be evaluated anyway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from hidet.ir.expr import (
    And,
    Expr,
    FloorDiv,
    FloorMod,
    Load,
    Or,
    Select,
    TruncDiv,
    TruncMod,
)
from hidet.ir.node import Node


def unconditional(roots: Iterable[Node]) -> set[Expr]:
    """The nodes that are evaluated whatever the conditions turn out to be."""
    found: set[Expr] = set()
    pending = [each for each in roots if isinstance(each, Expr)]
    while pending:
        e = pending.pop()
        if e in found:
            continue
        found.add(e)
        match e:
            case Select(condition):
                pending.append(condition)
            case And(a) | Or(a):
                pending.append(a)
            case _:
                pending.extend(child for child in e.children() if isinstance(child, Expr))
    return found


def safe_nodes(nodes: Sequence[Expr], there: Set[Expr] = frozenset()) -> set[Expr]:
    """The nodes that may be evaluated anywhere: no memory is read but what is `there`, no integer
    divided. `nodes` has children before parents."""
    safe: set[Expr] = set()
    for n in nodes:
        risky = isinstance(n, FloorDiv | FloorMod | TruncDiv | TruncMod) and n.dtype.is_integer
        if isinstance(n, Load) and n not in there:
            continue
        if not risky and all(c in safe for c in n.children()):
            safe.add(n)
    return safe
