"""What a host function launches, once sizes and numbers are known."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, TypeAlias

from hidet.errors import BadArgument, InternalError, Place, at
from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Call
from hidet.ir.stmt import (
    Assert,
    Assign,
    Body,
    Break,
    Continue,
    Declare,
    For,
    If,
    Return,
    Stmt,
    While,
)
from hidet.types import TensorType

MOST_STEPS = 1_000_000
"""Statements that a host function may run: more is taken for one that does not end."""
HOST = (Assert, Assign, Break, Call, Continue, For, If, Return, While)

Number: TypeAlias = Any


def is_host(stmt: Stmt) -> bool:
    """Whether the host can do it: it has numbers, and neither memory nor threads."""
    if isinstance(stmt, Declare):
        return not isinstance(stmt.var.of, TensorType)
    return isinstance(stmt, HOST)


def run(
    body: Body,
    numbers: MutableMapping[Var, Number],
    evaluate: Callable[[Expr], Number],
    launch: Callable[[Call], None],
) -> None:
    """Do what `body` says: `launch` is told of each launch, when `numbers` are what it sees.

    `evaluate` gives the value of an expression over `numbers`, at its type.
    """
    Host(numbers, evaluate, launch).body(body)


class Host:
    """Runs statements; a body gives the statement by which it was left, if any."""

    def __init__(
        self,
        numbers: MutableMapping[Var, Number],
        evaluate: Callable[[Expr], Number],
        launch: Callable[[Call], None],
    ) -> None:
        self.numbers, self.evaluate, self.launch = numbers, evaluate, launch
        self.steps = 0

    def body(self, body: Body) -> Stmt | None:
        """Statements in order."""
        for stmt in body:
            place: Place | None = stmt.place  # type: ignore[attr-defined]
            self.step(place)
            with at(place):
                left = self.statement(stmt)
            if left is not None:
                return left
        return None

    def step(self, place: Place | None) -> None:
        """Count a statement, or an iteration of a loop."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise BadArgument(f"the host function did not end in {MOST_STEPS} steps", place=place)

    def statement(self, stmt: Stmt) -> Stmt | None:
        """One statement."""
        match stmt:
            case Call():
                self.launch(stmt)
            case Declare(var, value) | Assign(var, value):
                if value is not None:
                    self.numbers[var] = self.evaluate(value)
            case If(condition, then, otherwise):
                return self.body(then if self.evaluate(condition) else otherwise)
            case For() | While():
                return self.loop(stmt)
            case Break() | Continue() | Return():
                return stmt
            case Assert(condition, message):
                if not self.evaluate(condition):
                    raise BadArgument(message)
            case _:
                raise InternalError(f"the host cannot do {stmt}")
        return None

    def loop(self, stmt: For | While) -> Stmt | None:
        """A loop; what it is left by may leave more than it."""
        iteration = 0
        extent = int(self.evaluate(stmt.extent)) if isinstance(stmt, For) else 0
        while iteration < extent if isinstance(stmt, For) else self.evaluate(stmt.condition):
            self.step(stmt.place)
            if isinstance(stmt, For):
                self.numbers[stmt.var] = stmt.var.dtype.numpy.type(iteration)
            left = self.body(stmt.body)
            if isinstance(left, Break):
                return None
            if isinstance(left, Return):
                return left
            iteration += 1
        return None
