"""Where an element goes when the operator after it reads it: inverse index maps."""

from __future__ import annotations

from hidet.compute import At, Computed, Definition, Input
from hidet.compute.classify import within
from hidet.compute.sizes import same
from hidet.ir.expr import Const, Expr, Var


def landing(definition: Definition, operand: Input) -> tuple[int | None, ...] | None:
    """Which axis of `operand` each axis of the result runs along, if the map can be inverted.

    One entry for each axis of the result: None where its size is 1. None altogether if some element
    of the operand lands nowhere, or in several places, or where that is not plain to see.
    """
    if len(definition.outputs) != 1 or not isinstance(definition.outputs[0], Computed):
        return None
    result = definition.outputs[0]
    read = straight_reads(result, operand)
    if read is None:
        return None
    names: dict[Expr, int] = {var: axis for axis, var in enumerate(result.vars)}
    used: dict[int, int] = {}
    for place, (e, size) in enumerate(zip(read, operand.shape, strict=True)):
        axis = names.get(e)
        if axis is not None and axis not in used and same(result.shape[axis], size):
            used[axis] = place
        elif not (size == 1 and isinstance(e, Const) and e.value == 0):
            return None
    if any(axis not in used and size != 1 for axis, size in enumerate(result.shape)):
        return None
    return tuple(used.get(axis) for axis in range(result.ndim))


def straight_reads(result: Computed, operand: Input) -> tuple[Expr, ...] | None:
    """The one index at which the result's element reads `operand`, through all grids between."""
    found: set[tuple[Expr, ...]] = set()

    def visit(grid: Computed, index: dict[Var, Expr]) -> bool:
        for at in (node for node in within(grid.value) if isinstance(node, At)):
            where = tuple(index.get(e, e) if isinstance(e, Var) else e for e in at.index)
            if at.grid is operand:
                found.add(where)
            elif isinstance(at.grid, Computed):
                if not visit(at.grid, dict(zip(at.grid.vars, where, strict=True))):
                    return False
            elif not isinstance(at.grid, Input):
                return False
        return True

    whole = visit(result, {var: var for var in result.vars})
    return found.pop() if whole and len(found) == 1 else None
