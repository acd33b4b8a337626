"""Whether the iterations of a loop can be taken statement by statement, as vector loops take
them."""

from __future__ import annotations

from hidet.ir.expr import Var
from hidet.ir.stmt import Assign, Body, Declare, If, Put, Stmt, Store
from hidet.ir.walk import statements, variables
from hidet.types import Scope, TensorType


def goes_by_statement(body: Body) -> bool:
    """Whether running each statement in all iterations, before the next one, does the same as
    running iteration after iteration: what one statement writes, no other one reads or writes, and
    no statement reads from memory what it writes itself. Variables that each iteration declares are
    its own."""
    found = statements(body)
    own = {s.var for s in found if isinstance(s, Declare)}
    plain = all(isinstance(s, Declare | Assign | Store | Put | If) for s in found)
    if not plain or any(isinstance(var.of, TensorType) for var in own):
        return False
    return not any(
        meets(s, target, others)
        for n, s in enumerate(found)
        if (target := written(s)) is not None and target not in own
        for others in [found[:n] + found[n + 1 :]]
    )


def meets(s: Stmt, target: Var, others: list[Stmt]) -> bool:
    """Whether what a statement writes is also read or written by others, or by itself in memory."""
    if target in read(s) and not is_held(target):
        return True
    return any(target is written(other) or target in read(other) for other in others)


def written(s: Stmt) -> Var | None:
    """What a statement writes."""
    if isinstance(s, Assign):
        return s.var
    return s.tensor if isinstance(s, Store | Put) and isinstance(s.tensor, Var) else None


def read(s: Stmt) -> list[Var]:
    """What a statement reads itself, without those inside it."""
    if isinstance(s, If):
        return variables(s.condition)
    if isinstance(s, Store | Put):
        return variables([*s.index, s.value])
    return variables([each for each in s.children() if each is not written(s)])


def is_held(var: Var) -> bool:
    """Whether a thread holds a variable in registers."""
    return not isinstance(var.of, TensorType) or var.of.scope is Scope.REGISTER
