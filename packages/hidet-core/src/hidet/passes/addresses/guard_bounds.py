"""Hooks on operands become loads and stores that stay inside of the tensors."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from hidet.ir.bounds import Bounds
from hidet.ir.expr import And, Expr, Get, Less, LessEqual, Load, Or, Select, Var, constant, unify
from hidet.ir.kernel import Kernel
from hidet.ir.node import Node
from hidet.ir.stmt import If, Put, Stmt, Store
from hidet.ir.walk import postorder
from hidet.passes.base import kernel_pass
from hidet.passes.scopes import Scoped


@kernel_pass(removes=(Get, Put))
def guard_bounds(kernel: Kernel) -> Kernel:
    """Turn `get` into a choice between a load and zero, `put` into a store under a condition.

    before   c.put(i, j, a.get(i, j))
    after    if i < m and j < n:  c[i, j] = a[i, j]

    Only what is not certain anyway is asked, cheap conditions first.
    """
    return Guards(kernel).run()


class Guards(Scoped):
    """The rewriting."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.done: dict[tuple[Bounds, Expr], Expr] = {}
        self.seen: set[Node] = set()
        self.reading: set[Node] = set()
        """Those of them that are, or have, a `get`."""

    def expression(self, e: Expr) -> Expr:
        """`e` with each `get` guarded."""
        return self.guarded(e, self.bounds)

    def leaf(self, s: Stmt) -> Iterable[Stmt]:
        """A `put` becomes a guarded store."""
        if not isinstance(s, Put):
            yield from super().leaf(s)
            return
        index = tuple(map(self.expression, s.index))
        condition = inside(s.tensor, index, self.bounds)
        if condition is None:
            yield Store(s.tensor, index, self.expression(s.value), s.place)
            return
        value = self.guarded(s.value, self.bounds.assume(condition))
        yield If(condition, (Store(s.tensor, index, value, s.place),), (), s.place)

    def guarded(self, e: Expr, bounds: Bounds) -> Expr:
        """`e` where `bounds` hold; the arms of a choice know its condition."""
        if not self.reads(e):
            return e
        key = bounds, e
        if key not in self.done:
            self.done[key] = self.rewritten(e, bounds)
        return self.done[key]

    def reads(self, e: Expr) -> bool:
        """Whether there is a `get` in `e`."""
        for each in postorder(e, self.seen):
            if isinstance(each, Get) or not self.reading.isdisjoint(each.children()):
                self.reading.add(each)
        return e in self.reading

    def rewritten(self, e: Expr, bounds: Bounds) -> Expr:
        """`e`, one level."""
        match e:
            case Get(tensor, index):
                index = tuple(self.guarded(i, bounds) for i in index)
                load = Load(tensor, index)
                condition = inside(tensor, index, bounds)
                return load if condition is None else Select(condition, load, zero(load))
            case Select(condition, then, otherwise):
                condition = self.guarded(condition, bounds)
                return Select(
                    condition,
                    self.guarded(then, bounds.assume(condition)),
                    self.guarded(otherwise, bounds.assume(condition, False)),
                )
            case And(a, b) | Or(a, b):
                first = self.guarded(a, bounds)
                return type(e)(first, self.guarded(b, bounds.assume(first, isinstance(e, And))))
        return e.map_children(lambda child: self.guarded(child, bounds))


def inside(tensor: Var, index: tuple[Expr, ...], bounds: Bounds) -> Expr | None:
    """The condition for `index` to lie in the shape, cheap parts first; None if it is certain."""
    asked: list[Expr] = []
    for at, size in zip(index, tensor.of.shape, strict=True):  # type: ignore[union-attr]
        for condition in (LessEqual(constant(0, at.dtype), at), Less(*unify(at, size))):
            if bounds.known(condition) is not True:
                asked.append(condition)
    asked.sort(key=lambda condition: sum(1 for _ in postorder(condition)))
    return reduce(And, asked) if asked else None


def zero(load: Load) -> Expr:
    """Zero of the type of the load."""
    return constant(0, load.dtype)
