"""Where an element goes when the operator after it reads it: inverse index maps."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.compute import Computed, Definition, Input
from hidet.compute.classify import elements_read
from hidet.compute.sizes import Shape, same
from hidet.ir.expr import Const, Expr, Var
from hidet.ir.walk import substitute


@dataclass(frozen=True)
class Landing:
    """Where elements of an operand go.

    `axes` says for each axis of the result which one of the operand it runs along, None where its
    size is 1. With `pairs` the last axis of the operand is twice as long: each element of the
    result reads an even one and its neighbour.
    """

    axes: tuple[int | None, ...]
    pairs: bool = False

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
    if len(reads) == 1:
        axes = inverted(result, next(iter(reads)), operand.shape)
        return None if axes is None else Landing(axes)
    along = pair_axis(result, reads)
    if along is None:
        return None
    outer = next(iter(reads))[:-1]
    half, rest = divmod(operand.shape[-1], 2) if isinstance(operand.shape[-1], int) else (0, 1)
    axes = None if rest else inverted(result, (*outer, along), (*operand.shape[:-1], half))
    return None if axes is None else Landing(axes, pairs=True)


def pair_axis(result: Computed, reads: set[tuple[Expr, ...]]) -> Var | None:
    """The variable j, if what is read differs in the last axis only, which is at 2j and 2j + 1."""
    if len(reads) != 2 or len({read[:-1] for read in reads}) != 1:
        return None
    last = {read[-1] for read in reads}
    return next((var for var in result.vars if last == {var * 2, var * 2 + 1}), None)


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
