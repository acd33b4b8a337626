"""Which arm of a choice dominates each part of an expression.

Expressions are graphs in which a part may have several users, some of them in arms of choices: the
part is evaluated only where the innermost arm that all its users lie in is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hidet.ir.expr import And, Expr, Load, Or, Select


@dataclass(frozen=True, eq=False)
class Arm:
    """What is evaluated where `condition` holds (or does not) within the arm `outer`.

    Without a condition it is all of an expression.
    """

    outer: Arm | None = None
    condition: Expr | None = None
    holds: bool = True
    depth: int = 0


WHOLE = Arm()


def dominators(nodes: Sequence[Expr], roots: Iterable[Expr]) -> dict[Expr, Arm]:
    """The innermost arm around all users of each of `nodes`: the parts of `roots`, in postorder.

    Arms are those of conditions that may be evaluated anywhere.
    """
    found: dict[Expr, Arm] = dict.fromkeys(roots, WHOLE)
    inner: dict[tuple[Arm, Expr, bool], Arm] = {}
    safe = harmless(nodes)
    for user in reversed(nodes):
        for child, condition, holds in operands(user):
            arm = found[user]
            if condition in safe:
                key = arm, condition, holds
                arm = inner.setdefault(key, Arm(*key, arm.depth + 1))
            found[child] = common_arm(found.get(child, arm), arm)
    return found


def operands(e: Expr) -> Iterator[tuple[Expr, Expr | None, bool]]:
    """The operands of `e`, each with the condition that it is evaluated under, and which way that
    is decided then."""
    match e:
        case Select(condition, then, otherwise):
            yield from ((condition, None, True), (then, condition, True))
            yield otherwise, condition, False
        case And(a, b) | Or(a, b):
            yield from ((a, None, True), (b, a, isinstance(e, And)))
        case _:
            yield from ((each, None, True) for each in e.children() if isinstance(each, Expr))


def common_arm(a: Arm, b: Arm) -> Arm:
    """The innermost arm that two arms lie in."""
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        assert a.outer is not None
        a = a.outer
    return a


def harmless(nodes: Iterable[Expr]) -> set[Expr]:
    """Those of `nodes`, in postorder, that may be evaluated anywhere: `get` looks at the bounds of
    what it reads, a division by zero gives zero, and other memory is not read."""
    safe: set[Expr] = set()
    for each in nodes:
        if not isinstance(each, Load) and safe.issuperset(each.children()):
            safe.add(each)
    return safe
