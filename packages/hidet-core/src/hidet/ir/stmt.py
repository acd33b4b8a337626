"""Statements: what happens, in order. They have places and are never shared."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

from hidet.errors import Place
from hidet.ir.expr import Expr, Var
from hidet.ir.node import Node, node


class Stmt(Node):
    """Something a kernel does."""

    __slots__ = ()


Body: TypeAlias = tuple[Stmt, ...]


class LoopKind(StrEnum):
    """How the iterations of a loop are run."""

    SERIAL = "serial"
    UNROLL = "unroll"  # replaced by its iterations
    PARALLEL = "parallel"  # CPU: spread over the threads of the team
    VECTOR = "vector"  # CPU: iterations are independent, run in vector lanes


@node
class Declare(Stmt):
    """Introduce `var`: a scalar or vector with a first value, or an array (shared or register).

    The first value of an array, if there is one, is given to each of its elements.
    """

    var: Var
    init: Expr | None = None
    place: Place | None = None


@node
class Assign(Stmt):
    """Give a scalar, vector or pointer variable a new value."""

    var: Var
    value: Expr
    place: Place | None = None


@node
class Store(Stmt):
    """Write `value` at `index` of a tensor or pointer; a vector fills consecutive elements."""

    tensor: Expr
    index: tuple[Expr, ...]
    value: Expr
    place: Place | None = None


@node
class Put(Stmt):
    """A schedule's hook on a result: write `value` at `index`, dropped outside of the shape.

    Fusion replaces it by what consumes the value; guard_bounds turns what is left into stores.
    """

    tensor: Var
    index: tuple[Expr, ...]
    value: Expr
    place: Place | None = None


@node
class Invoke(Stmt):
    """Call an intrinsic with an effect: a barrier, a shuffle, an atomic, a copy, a matmul.

    `results` are variables it assigns; `options` are its compile-time choices.
    """

    name: str
    args: tuple[Expr, ...] = ()
    results: tuple[Var, ...] = ()
    options: tuple[Any, ...] = ()
    place: Place | None = None


@node
class For(Stmt):
    """Run `body` with `var` = 0, 1, ... below `extent`."""

    var: Var
    extent: Expr
    body: Body
    kind: LoopKind = LoopKind.SERIAL
    place: Place | None = None


@node
class ForTasks(Stmt):
    """Run `body` for each task that `mapping` gives to `worker`."""

    vars: tuple[Var, ...]
    mapping: Any
    worker: Expr
    body: Body
    place: Place | None = None


@node
class While(Stmt):
    """Run `body` as long as `condition` holds."""

    condition: Expr
    body: Body
    place: Place | None = None


@node
class If(Stmt):
    """Run `then` where `condition` holds, else `otherwise`."""

    condition: Expr
    then: Body
    otherwise: Body = ()
    place: Place | None = None


@node
class Break(Stmt):
    """Leave the innermost loop."""

    place: Place | None = None


@node
class Continue(Stmt):
    """Go to the next iteration of the innermost loop."""

    place: Place | None = None


@node
class Return(Stmt):
    """Leave the kernel."""

    place: Place | None = None


@node
class Assert(Stmt):
    """Stop the kernel with `message` where `condition` does not hold."""

    condition: Expr
    message: str
    place: Place | None = None


@node
class Print(Stmt):
    """Print `args` by a printf format."""

    format: str
    args: tuple[Expr, ...]
    place: Place | None = None
