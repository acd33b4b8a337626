"""Walking a kernel with what is known at each statement: loop extents, conditions, launch sizes."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.ir.bounds import Bounds
from hidet.ir.expr import Builtin, Const, Expr, Less, Not, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.ranges import Range, exactly
from hidet.ir.stmt import (
    Assign,
    Body,
    Break,
    Continue,
    Declare,
    For,
    ForTasks,
    If,
    Invoke,
    Return,
    Stmt,
    While,
)
from hidet.ir.walk import introduced, statements, variables
from hidet.passes.base import with_body
from hidet.types import TensorType


class Scoped:
    """A rewriting of a kernel that knows at each statement what holds there, as `self.bounds`.

    A pass overrides `expression` (what becomes of a statement's expressions) and `leaf` (what
    becomes of a statement without a body), or `loop` and `branch`.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.bounds = kernel_bounds(kernel)

    def run(self) -> Kernel:
        """The rewritten kernel."""
        return with_body(self.kernel, self.body(self.kernel.body))

    def expression(self, e: Expr) -> Expr:
        """What becomes of an expression."""
        return e

    def leaf(self, s: Stmt) -> Iterable[Stmt]:
        """What becomes of a statement without a body."""
        yield s.map_children(self.child)

    def child(self, e: Expr) -> Expr:
        """An operand of a statement."""
        return self.expression(e)

    def body(self, body: Body) -> Body:
        """What becomes of a list of statements; each knows what the ones before it imply."""
        outside = self.bounds
        out: list[Stmt] = []
        for s in body:
            for new in self.statement(s):
                out.append(new)
                self.after(new)
        self.bounds = outside
        return tuple(out)

    def under(self, bounds: Bounds, body: Body) -> Body:
        """What becomes of a list of statements where `bounds` hold."""
        outside, self.bounds = self.bounds, bounds
        try:
            return self.body(body)
        finally:
            self.bounds = outside

    def statement(self, s: Stmt) -> Iterable[Stmt]:
        """What becomes of a statement."""
        match s:
            case For():
                return self.loop(s)
            case If():
                return self.branch(s)
            case While(condition, body, place):
                return (While(self.expression(condition), self.body(body), place),)
            case ForTasks(names, mapping, worker, body, place):
                worker = self.expression(worker)
                return (ForTasks(names, mapping, worker, self.body(body), place),)
        return self.leaf(s)

    def loop(self, s: For) -> Iterable[Stmt]:
        """What becomes of a loop."""
        extent = self.expression(s.extent)
        body = self.under(self.bounds.count(s.var, extent), s.body)
        yield For(s.var, extent, body, s.kind, s.place)

    def branch(self, s: If) -> Iterable[Stmt]:
        """What becomes of an if."""
        condition = self.expression(s.condition)
        then = self.under(self.bounds.assume(condition), s.then)
        otherwise: Body = ()
        if s.otherwise:
            otherwise = self.under(self.bounds.assume(condition, False), s.otherwise)
        yield If(condition, then, otherwise, s.place)

    def after(self, s: Stmt) -> None:
        """Take in what holds after a statement."""
        match s:
            case Declare(var, Expr() as init) if not isinstance(var.of, TensorType):
                self.bounds = self.bounds.define(var, init)
            case If(condition, then, ()) if then and leaves(then[-1]):
                self.bounds = self.bounds.assume(condition, False)


def leaves(s: Stmt) -> bool:
    """Whether what follows `s` in its list is not reached."""
    return isinstance(s, Return | Break | Continue)


def assigned(kernel: Kernel) -> frozenset[Var]:
    """The variables that get a value after their declaration."""
    found: set[Var] = set()
    for s in statements(kernel.body):
        match s:
            case Assign(var):
                found.add(var)
            case Invoke(results=results):
                found.update(results)
    return frozenset(found)


def symbols(kernel: Kernel) -> list[Var]:
    """The variables that neither a parameter nor a statement introduces: the kernel's sizes."""
    maps = (each.var for each in kernel.maps)
    bound = {*kernel.params, *maps, *introduced(kernel.body)}
    return [var for var in variables([*kernel.body, kernel.launch]) if var not in bound]


def kernel_bounds(kernel: Kernel) -> Bounds:
    """What is known in all of a kernel: sizes are not negative, threads and blocks are counted."""
    given: dict[Expr, Range] = dict.fromkeys(symbols(kernel), Range(0, None))
    bounds = Bounds(given, assigned(kernel))
    if kernel.kind is not KernelKind.CUDA:
        return bounds
    launch = kernel.launch
    for numbers, counts, total in (
        ("threadIdx", "blockDim", launch.block),
        ("blockIdx", "gridDim", launch.grid),
    ):
        for axis, size in zip("xyz", total, strict=True):
            count, number = Builtin(f"{counts}.{axis}"), Builtin(f"{numbers}.{axis}")
            if isinstance(size, Const):
                bounds = bounds.bind(count, exactly(int(size.value)))
                bounds = bounds.bind(number, Range(0, int(size.value) - 1))
            elif size.dtype.is_integer:
                bounds = bounds.assume(
                    Less(number, size)
                    if size.dtype is number.dtype
                    else Not(Less(size, number.cast(size.dtype)))
                )
            if not isinstance(size, Const):
                bounds = bounds.assume(Less(number, count))
    return bounds
