"""Copies of statements with variables of their own."""

from __future__ import annotations

from collections.abc import Mapping

from hidet.ir.expr import Expr, Var
from hidet.ir.stmt import Body
from hidet.ir.walk import introduced, substitute_body


def copied(body: Body, values: Mapping[Var, Expr]) -> Body:
    """`body` with `values` put in and each variable that it introduces replaced by a new one."""
    new: dict[Var, Expr] = {var: Var(var.name, var.of) for var in introduced(body)}
    return substitute_body(body, {**new, **values})
