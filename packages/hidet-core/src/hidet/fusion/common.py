"""What several values are made of, computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from hidet.ir.expr import Address, And, Builtin, Const, Expr, Get, Load, Or, Select, Var
from hidet.ir.stmt import Body, Declare


def in_common(values: Sequence[Expr]) -> tuple[Body, list[Expr]]:
    """Declarations of what several of `values` are made of, and of what they read, and the values
    with these in place.

    before   a + x.get(i);  max(a + x.get(i), 0) * y.get(j)
    after    c = a + x.get(i);  d = y.get(j);  c;  max(c, 0) * d

    So everything is read ahead of the first write, and an operand that others do not index alike
    is read under no condition but its own. What is computed under a condition alone stays there,
    and so do indices. Of one value nothing is declared.
    """
    if len(values) < 2:
        return (), list(values)
    asked = Counter(e for value in values for e in reached(value, every))
    sure = {e for value in values for e in reached(value, unconditional)}
    parts = {e for parent in asked for e in every(parent) if asked[e] > asked[parent]}
    common = {e for e in (*parts, *values) if asked[e] > 1 and not is_leaf(e)}
    chosen = sure & (common | {e for e in asked if isinstance(e, Get)})
    before: list[Declare] = []
    done: dict[Expr, Expr] = {}

    def visit(e: Expr) -> Expr:
        if e not in done:
            new: Expr = e.map_children(visit)
            if e in chosen:
                before.append(Declare(Var("part", e.dtype), new))
                new = before[-1].var
            done[e] = new
        return done[e]

    found = [visit(each) for each in values]
    return tuple(before), found


def reached(value: Expr, parts: Callable[[Expr], Sequence[Expr]]) -> Iterator[Expr]:
    """A value and what it is made of, each once, as `parts` gives it."""
    seen: set[Expr] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            yield current
            pending += parts(current)


def every(e: Expr) -> Sequence[Expr]:
    """What an expression is made of; indices are left out."""
    if isinstance(e, Get | Load | Address):
        return ()
    return [each for each in e.children() if isinstance(each, Expr)]


def unconditional(e: Expr) -> Sequence[Expr]:
    """What is computed whenever the expression is."""
    match e:
        case Select(first) | And(first) | Or(first):
            return (first,)
    return every(e)


def is_leaf(e: Expr) -> bool:
    """Whether there is nothing to compute."""
    return isinstance(e, Var | Const | Builtin)
