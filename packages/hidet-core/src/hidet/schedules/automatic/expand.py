"""Values of definitions as expressions over memory: reads of tensors, everything else in place."""

from __future__ import annotations

from collections.abc import Mapping

from hidet.compute import At, Computed, Grid, Reduce
from hidet.errors import InternalError
from hidet.ir.expr import Const, Expr, Get, Var
from hidet.ir.walk import substitute
from hidet.types import i32


class Expansion:
    """Expressions for elements of grids, given which grids lie in memory.

    `tensors` may grow while the expansion is in use, before the grids added to it are asked for.
    """

    def __init__(self, tensors: Mapping[Grid, Var]) -> None:
        self.tensors = tensors
        self.values: dict[Grid, Expr] = {}

    def of(self, grid: Computed) -> Expr:
        """The value of `grid` at its own variables."""
        if grid not in self.values:
            self.values[grid] = self.value(grid.value)
        return self.values[grid]

    def element(self, grid: Grid, index: tuple[Expr, ...]) -> Expr:
        """The element of `grid` at `index`: read from memory if it is there, else computed."""
        tensor = self.tensors.get(grid)
        if tensor is not None:
            return Get(tensor, index)
        if not isinstance(grid, Computed):
            raise InternalError(f"{grid} is neither in memory nor computed element by element")
        return substitute(self.of(grid), dict(zip(grid.vars, index, strict=True)))

    def value(self, e: Expr) -> Expr:
        """`e` with every element of a grid in it expanded."""
        done: dict[Expr, Expr] = {}

        def visit(node: Expr) -> Expr:
            if node not in done:
                if isinstance(node, At):
                    index = tuple(visit(each) for each in node.index)
                    done[node] = self.element(node.grid, index)
                else:
                    done[node] = simplified(node.map_children(visit))
            return done[node]

        return visit(e)


def simplified(e: Expr) -> Expr:
    """A reduction without the variables that have one value; without any it is what it reduces."""
    if not isinstance(e, Reduce) or 1 not in e.extents:
        return e
    pairs = list(zip(e.vars, e.extents, strict=True))
    value = substitute(e.value, {var: Const(0, i32) for var, size in pairs if size == 1})
    remaining = [(var, size) for var, size in pairs if size != 1]
    if not remaining:
        return value
    names, extents = zip(*remaining, strict=True)
    return Reduce(names, extents, value, e.how)
