"""What kind of map a definition is: how far fusion and the automatic schedule may take it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from hidet.compute.grid import At, Computed, Grid, Input, Scan, Scatter
from hidet.compute.reduction import ArgReduce, Reduce
from hidet.compute.sizes import same
from hidet.ir.expr import Const, Expr
from hidet.ir.node import Node
from hidet.ir.walk import find, postorder


class Kind(StrEnum):
    """From the most to the least that can be done with a definition."""

    ELEMENTWISE = "elementwise"
    """Each element is the same function of the operands' elements at the same, broadcast, index."""
    INJECTIVE = "injective"
    """Each element depends on a fixed number of operand elements, wherever they are, and on its
    own index, as a triangle does."""
    REDUCTION = "reduction"
    """Some element combines a whole range of elements."""
    OPAQUE = "opaque"
    """A scan or a scatter: elements cannot be computed one by one."""


def classify(*grids: Grid) -> Kind:
    """The kind of a definition, judged over everything that it mentions."""
    nodes = list(postorder(grids))
    if any(isinstance(each, Scan | Scatter) for each in nodes):
        return Kind.OPAQUE
    if any(isinstance(each, Reduce | ArgReduce) for each in nodes):
        return Kind.REDUCTION
    made = [each for each in nodes if isinstance(each, Computed)]
    straight = all(is_straight(at, each) for each in made for at in accesses(each))
    return Kind.ELEMENTWISE if straight and all(map(is_uniform, made)) else Kind.INJECTIVE


def accesses(grid: Computed, of: Grid | None = None) -> Iterator[At]:
    """The element accesses in a grid's own value; only those of grid `of` if given."""
    return (at for at in elements_read(grid.value) if of in (None, at.grid))


def elements_read(e: Expr) -> list[At]:
    """The elements of grids read in an expression, each once, not looking into the grids."""
    return [each for each in within(e) if isinstance(each, At)]


def within(root: Expr, border: type[Node] = Grid) -> Iterator[Node]:
    """The nodes of an expression, each once, without entering the grids that it reads.

    Given another kind of node, without those and what is below them.
    """
    seen: set[Node] = set()
    pending: list[Node] = [root]
    while pending:
        current = pending.pop()
        if current not in seen and not isinstance(current, border):
            seen.add(current)
            yield current
            pending.extend(reversed(current.children()))


def is_straight(at: At, grid: Computed) -> bool:
    """Whether `at` reads at the grid's own index, as broadcasting aligns the trailing axes."""
    skipped = len(grid.vars) - len(at.index)
    if skipped < 0:
        return False
    for axis, e in enumerate(at.index):
        spread = isinstance(e, Const) and e.value == 0 and same(at.grid.shape[axis], 1)
        if e is not grid.vars[skipped + axis] and not spread:
            return False
    return True


def is_uniform(grid: Computed) -> bool:
    """Whether a grid's value is the same everywhere, but for the elements that it reads."""
    return not any(each in grid.vars for each in within(grid.value, At))


def has_reduction(value: Expr) -> bool:
    """Whether an expression itself (not the grids it reads) reduces or searches."""
    return any(isinstance(each, Reduce | ArgReduce) for each in within(value))


def inputs(*grids: Grid) -> list[Input]:
    """The operands that a definition reads, in order of appearance."""
    return list(find(grids, Input))
