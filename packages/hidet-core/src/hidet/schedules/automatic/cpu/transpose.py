"""Elements on CPU whose operand runs along another axis than the result does.

A vector along the result's row would touch a line of the cache for each element, and the next row
all of them again. So a few rows are written together: what they need of the operand lies side by
side, and pass `transpose_tiles` takes it through tiles.
"""

from __future__ import annotations

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Get, Var, wrap
from hidet.ir.stmt import Body, For, LoopKind, Stmt
from hidet.ir.walk import find
from hidet.schedules.automatic.access import constant_size, known_product, stride
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.emit import put
from hidet.schedules.automatic.plan import MapStage
from hidet.types import i32

TOGETHER = 16
"""Rows that are written together."""
LEAST = 8
"""Elements of both axes from which that pays, and the least distance of neighbours in the
operand."""


def turned_axis(stage: MapStage) -> Var | None:
    """The axis along which operands run that are far apart along the result's rows; None if there
    is none, or these are short."""
    if not stage.vars:
        return None
    last = stage.vars[-1]
    found: set[Var] = set()
    for read in dict.fromkeys(find([stage.value, *(e for _, e in stage.also)], Get)):
        step = stride(read, last)
        if step is None:
            return None
        if abs(step) >= LEAST:
            found |= {var for var in stage.vars[:-1] if stride(read, var) == 1}
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    long = [each for each in found if (constant_size(sizes[each]) or 0) >= LEAST]
    wide = (constant_size(sizes[last]) or 0) >= LEAST
    return long[0] if wide and len(long) == len(found) == 1 else None


def turned(stage: MapStage, axis: Var) -> Body:
    """Groups of rows along `axis` over the threads, and the rows that are left."""
    size = constant_size(dict(zip(stage.vars, stage.shape, strict=True))[axis]) or 0
    whole, left = size // TOGETHER, size % TOGETHER
    made = [rows(stage, axis, 0, whole, TOGETHER)] if whole else []
    if left:
        made.append(rows(stage, axis, whole * TOGETHER, 1, left))
    return tuple(made)


def rows(stage: MapStage, axis: Var, first: int, groups: int, count: int) -> Stmt:
    """So many groups of `count` rows each, from the row `first` on."""
    row, column, inside = Var("row", i32), Var("column", i32), Var("inside", i32)
    names, sizes = stage.vars[:-1], stage.shape[:-1]
    outer = [groups if v is axis else size for v, size in zip(names, sizes, strict=True)]
    index: dict[Var, Expr] = dict(zip(names, unravel(row, outer), strict=True))
    index[axis] = index[axis] * count + (inside + first)
    index[stage.vars[-1]] = column
    line = For(column, wrap(stage.shape[-1]), put(stage, index, {}), LoopKind.VECTOR)
    each = known_product(stage.shape[-1:]) * count
    return loop(row, product(outer), each, (For(inside, wrap(count), (line,)),))
