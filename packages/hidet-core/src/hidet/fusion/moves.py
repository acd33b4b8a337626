"""Where an element goes when the operator after it reads it: inverse index maps."""

from __future__ import annotations

from dataclasses import dataclass, field

from hidet.compute import Computed, Definition, Input
from hidet.compute.classify import elements_read
from hidet.compute.sizes import Shape, same
from hidet.ir.expr import Const, Expr, Var
from hidet.ir.walk import substitute

MOST_NEIGHBOURS = 4
"""Of how many neighbours an element may be made: an LSTM cell has four gates."""


@dataclass(frozen=True)
class Landing:
    """Where elements of an operand go.

    `axes` says for each axis of the result which one of the operand it runs along, None where its
    size is 1. The last axis of the operand may be `neighbours` times as long: element j of the
    result then reads some of those from j * neighbours on, and none beyond these.
    """

    axes: tuple[int | None, ...]
    neighbours: int = 1
    places: frozenset[int] = field(default=frozenset((0,)), compare=False)
    """Which of the neighbours are read."""

    def keeps_rows(self, shape: Shape) -> bool:
        """Whether neighbours in a row of an operand of this shape are neighbours in the result."""
        along = [axis for axis in self.axes if axis is not None and shape[axis] != 1]
        return not along or along[-1] == max(along)


def landing(definition: Definition, operand: Input) -> Landing | None:
    """Where each element of `operand` goes, if the map can be inverted.

    None if some element of the operand lands nowhere, or in several places, or where that is not
    plain to see.
    """
    if len(definition.outputs) != 1 or not isinstance(definition.outputs[0], Computed):
        return None
    result = definition.outputs[0]
    reads = straight_reads(result, operand)
    if reads is None:
        return None
    axes = inverted(result, next(iter(reads)), operand.shape) if len(reads) == 1 else None
    if axes is not None:
        return Landing(axes)
    if not operand.shape:
        return None  # one element has no neighbours
    for count in range(2, MOST_NEIGHBOURS + 1):
        found = grouped(result, reads, count)
        if found is not None and isinstance(size := operand.shape[-1], int) and size % count == 0:
            along, places = found
            outer = next(iter(reads))[:-1]
            axes = inverted(result, (*outer, along), (*operand.shape[:-1], size // count))
            return None if axes is None else Landing(axes, count, places)
    return None


def grouped(
    result: Computed, reads: set[tuple[Expr, ...]], count: int
) -> tuple[Var, frozenset[int]] | None:
    """The variable j and the places read, if what is read differs in the last axis only, and lies
    there at some places among the `count` neighbours from j * count on."""
    if len({read[:-1] for read in reads}) != 1:
        return None
    last = {read[-1] for read in reads}
    for var in result.vars:
        known: dict[Expr, int] = {var * count + n if n else var * count: n for n in range(count)}
        if last <= known.keys():
            return var, frozenset(known[each] for each in last)
    return None


def inverted(
    result: Computed, read: tuple[Expr, ...], shape: Shape
) -> tuple[int | None, ...] | None:
    """Which axis of an operand that is read at one index each axis of the result runs along."""
    names: dict[Expr, int] = {var: axis for axis, var in enumerate(result.vars)}
    used: dict[int, int] = {}
    for place, (e, size) in enumerate(zip(read, shape, strict=True)):
        axis = names.get(e)
        if axis is not None and axis not in used and same(result.shape[axis], size):
            used[axis] = place
        elif not (size == 1 and isinstance(e, Const) and e.value == 0):
            return None
    if any(axis not in used and size != 1 for axis, size in enumerate(result.shape)):
        return None
    return tuple(used.get(axis) for axis in range(result.ndim))


def straight_reads(result: Computed, operand: Input) -> set[tuple[Expr, ...]] | None:
    """The indices at which the result's element reads `operand`, through all grids between.

    None if it reads anything whose elements are not computed one by one.
    """
    found: set[tuple[Expr, ...]] = set()

    def visit(grid: Computed, index: dict[Var, Expr]) -> bool:
        for at in elements_read(grid.value):
            where = tuple(substitute(e, index) for e in at.index)
            if at.grid is operand:
                found.add(where)
            elif isinstance(at.grid, Computed):
                if not visit(at.grid, dict(zip(at.grid.vars, where, strict=True))):
                    return False
            elif not isinstance(at.grid, Input):
                return False
        return True

    whole = visit(result, {var: var for var in result.vars})
    return found if whole and found else None
