"""Copies of statements with variables of their own."""

from __future__ import annotations

from collections.abc import Mapping

from hidet.ir.expr import Expr, Var
from hidet.ir.stmt import Body, Declare, For, ForTasks
from hidet.ir.walk import find, substitute_body


def copied(body: Body, values: Mapping[Var, Expr]) -> Body:
    """`body` with `values` put in and each variable that it introduces replaced by a new one."""
    introduced: list[Var] = [s.var for s in find(body, Declare)]
    introduced += [s.var for s in find(body, For)]
    introduced += [v for s in find(body, ForTasks) for v in s.vars]
    new: dict[Var, Expr] = {var: Var(var.name, var.of) for var in introduced}
    return substitute_body(body, {**new, **values})
