"""Shorter programs of the same meaning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from hidet.ir.algebra import Algebra
from hidet.ir.expr import Builtin, Const, Expr, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assert, Assign, Body, Break, Continue, Declare, For, If, Stmt, While
from hidet.ir.walk import rebuild_statements, statements, substitute_body
from hidet.passes.base import kernel_pass, with_body
from hidet.passes.scopes import Scoped, leaves
from hidet.types import TensorType


@kernel_pass()
def simplify(kernel: Kernel) -> Kernel:
    """Simplify index arithmetic, decide conditions, drop what is never run or never read.

    before   for i in 1:  if t < 64:  a[(i * 8 + t) % 8] = x * 1.0     (t below 8)
    after    a[t] = x
    """
    return without_dead(Simplification(kernel).run())


class Simplification(Scoped):
    """Expressions by the algebra of their place; loops of no or one iteration; decided branches."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.copies: dict[Expr, Expr] = {}
        self.algebra = Algebra(self.bounds, values=self.copies)

    def expression(self, e: Expr) -> Expr:
        """`e` in its simplest form here."""
        return self.algebra.at(self.bounds).simplify(e)

    def leaf(self, s: Stmt) -> Iterable[Stmt]:
        """A statement with simple expressions; a name for a name or number is that."""
        match s:
            case Declare(var, Expr() as init, place) if not isinstance(var.of, TensorType):
                value = self.expression(init)
                copied = isinstance(value, Var | Const | Builtin) and value.type == var.type
                if copied and var not in self.bounds.mutable and self.bounds.stable(value):
                    self.copies[var] = value
                else:
                    yield Declare(var, value, place)
            case Assign(var, value, place):
                yield Assign(var, self.expression(value), place)
            case Assert(condition, message, place):
                checked = self.expression(condition)
                if not (isinstance(checked, Const) and checked.value):
                    yield Assert(checked, message, place)
            case _:
                yield from super().leaf(s)

    def statement(self, s: Stmt) -> Iterable[Stmt]:
        """A statement; a loop that never runs is none."""
        if isinstance(s, While):
            condition = self.expression(s.condition)
            if isinstance(condition, Const) and not condition.value:
                return ()
        return super().statement(s)

    def loop(self, s: For) -> Iterable[Stmt]:
        """A loop, its one iteration, or nothing."""
        extent = self.expression(s.extent)
        count = self.bounds.range(extent)
        if count.most <= 0:
            return
        if count.single == 1 and not jumps(s.body) and s.var not in self.bounds.mutable:
            yield from self.body(substitute_body(s.body, {s.var: constant(0, s.var.dtype)}))
            return
        body = self.under(self.bounds.count(s.var, extent), s.body)
        if body:
            yield For(s.var, extent, body, s.kind, s.place)

    def branch(self, s: If) -> Iterable[Stmt]:
        """An if, the branch that is taken, or nothing."""
        condition = self.expression(s.condition)
        if isinstance(condition, Const):
            yield from self.body(s.then if condition.value else s.otherwise)
            return
        then = self.under(self.bounds.assume(condition), s.then)
        otherwise = self.under(self.bounds.assume(condition, False), s.otherwise)
        if not then and otherwise:
            condition, then, otherwise = self.expression(~condition), otherwise, ()
        if then:
            yield If(condition, then, otherwise, s.place)

    def body(self, body: Body) -> Body:
        """Statements up to the one after which nothing is reached."""
        out = super().body(body)
        end = next((k for k, s in enumerate(out) if leaves(s)), len(out))
        return out[: end + 1]


def jumps(body: Body) -> bool:
    """Whether a break or continue belongs to the loop around `body`."""
    for s in body:
        match s:
            case Break() | Continue():
                return True
            case If(_, then, otherwise) if jumps(then) or jumps(otherwise):
                return True
    return False


def without_dead(kernel: Kernel) -> Kernel:
    """The kernel without variables that nothing reads."""
    read: set[Var] = set()

    def change(node: Stmt) -> Any:
        return () if dead(node, read) else node

    while True:
        read = set(reads(kernel))
        new = with_body(kernel, rebuild_statements(kernel.body, change))
        if new is kernel:
            return kernel
        kernel = new


def reads(kernel: Kernel) -> Iterable[Var]:
    """The variables whose values the kernel uses."""
    for s in statements(kernel.body):
        given = s.var if isinstance(s, Declare | Assign) else None
        for child in s.children():
            if isinstance(child, Expr) and child is not given:
                yield from cast(frozenset[Var], child.mentioned())


def dead(node: Stmt, read: set[Var]) -> bool:
    """Whether a statement only names a value that nothing reads, or does nothing."""
    match node:
        case Declare(var) | Assign(var):
            return var not in read
        case For(body=()) | If(then=(), otherwise=()):
            return True
    return False
