"""Reductions on CPU whose neighbours read neighbours: windows, and long columns.

Vector lanes are outputs. A window of few elements is written out, so that its sum stays in a
register; the loops of a longer reduction run around a tile of outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from functools import reduce as fold
from itertools import product as product_of

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Load, Minimum, Var, combine, constant, wrap
from hidet.ir.stmt import Body, Declare, For, LoopKind, Stmt, Store
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import constant_size, known_product, mostly_contiguous
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.cpu.lanes import join_of
from hidet.schedules.automatic.emit import (
    AnyReduce,
    ceil_div,
    joined,
    put,
    with_serial_reductions,
)
from hidet.schedules.automatic.plan import MapStage
from hidet.types import Scope, TensorType, i32

TILE = 64
"""Outputs that a loop of vectors runs over."""
COLUMNS = 512
"""The same of long columns, at most: memory is read in long runs."""
LONG = 16
"""Elements from which a column is long."""
GROUP = 4
"""Elements of a long column that an iteration takes."""
WINDOW = 64
"""Elements of a reduction up to which it is written out: its sums then stay in registers."""
RUN = 16
"""Of these so many are combined one after the other: expressions stay shallow."""
NEAR = 4
"""Steps up to which a vector gathered from memory is faster than its elements one by one."""


def tiled(stage: MapStage, reduces: list[AnyReduce]) -> bool:
    """Whether neighbouring outputs read elements near one another, so that lanes may be outputs."""
    last = stage.vars[-1]
    plain = all(isinstance(each, Reduce) for each in reduces) and len(reduces) == 1
    return plain and stage.shape[-1] != 1 and mostly_contiguous(reduces[0].value, last, NEAR)


def few(reduce: AnyReduce) -> bool:
    """Whether a reduction is of few elements, to be written out; integers may be indices, which are
    computed once."""
    sizes = [constant_size(extent) for extent in reduce.extents]
    return reduce.dtype.is_float and all(sizes) and known_product(reduce.extents) <= WINDOW


def written_out(stage: MapStage, reduce: AnyReduce) -> MapStage:
    """The stage with a window's elements combined one by one, instead of its reduction."""
    values = []
    for place in product_of(*(range(constant_size(extent) or 0) for extent in reduce.extents)):
        index = {v: constant(at, i32) for v, at in zip(reduce.vars, place, strict=True)}
        values.append(substitute(reduce.value, index))
    while len(values) > 1:
        runs = (values[first : first + RUN] for first in range(0, len(values), RUN))
        values = [fold(partial(joined, reduce.how), run) for run in runs]
    known: dict[Expr, Expr] = {reduce: values[0]}
    also = tuple((out, replaced(value, known)) for out, value in stage.also)
    return replace(stage, value=replaced(stage.value, known), also=also)


def tiles(stage: MapStage, reduces: list[AnyReduce]) -> Body:
    """Tiles of neighbouring outputs, an accumulator each; the reduction's loops run outside."""
    (reduce,) = reduces
    assert isinstance(reduce, Reduce)
    count = stage.shape[-1]
    known = constant_size(count) or COLUMNS
    side = min(COLUMNS, -(-known // TILE) * TILE) if is_long(reduce) else TILE
    row, tile, out = Var("row", i32), Var("tile", i32), Var("lane", i32)
    partial = Var("partial", TensorType(reduce.value.dtype, (side,), Scope.REGISTER))
    width = combine(Minimum, constant(side, i32), count - tile * side)
    outer = unravel(row, stage.shape[:-1])

    def place(lane: Var) -> dict[Var, Expr]:
        return dict(zip(stage.vars, (*outer, tile * side + lane), strict=True))

    write = put(stage, place(out), {reduce: Load(partial, (out,))})
    body: Body = (
        Declare(partial, reduce.identity),
        *reduction_loops(reduce, partial, width, place),
        For(out, width, write, LoopKind.VECTOR),
    )
    body = (For(tile, wrap(ceil_div(count, side)), body),)
    work = known_product((count, *reduce.extents))
    return (loop(row, product(stage.shape[:-1]), work, body),)


def is_long(reduce: Reduce) -> bool:
    """Whether the innermost axis of a reduction is a long column, not the side of a window."""
    return (constant_size(reduce.extents[-1]) or 0) >= LONG


def reduction_loops(
    reduce: Reduce, partial: Var, width: Expr, place: Callable[[Var], dict[Var, Expr]]
) -> Body:
    """The loops of a reduction around those over a tile. Of long columns an iteration takes several
    elements, for which accumulators are loaded and stored once."""
    *names, last = (Var(var.name, i32) for var in reduce.vars)
    join = join_of(reduce)

    def iteration(first: Expr, count: int) -> Body:
        lane = Var("lane", i32)
        before: list[Stmt] = []
        elements: list[Expr] = []
        for number in range(count):
            index = (*names, first + number if number else first)
            here = dict(zip(reduce.vars, index, strict=True)) | place(lane)
            steps, element = with_serial_reductions(substitute(reduce.value, here), {})
            before += steps
            elements.append(element)
        update = Store(partial, (lane,), join(Load(partial, (lane,)), fold(join, elements)))
        return (For(lane, width, (*before, update), LoopKind.VECTOR),)

    if is_long(reduce):
        groups, left = divmod(constant_size(reduce.extents[-1]) or 0, GROUP)
        body: Body = (For(last, constant(groups, i32), iteration(last * GROUP, GROUP)),)
        body += iteration(constant(groups * GROUP, i32), left) if left else ()
    else:
        body = (For(last, wrap(reduce.extents[-1]), iteration(last, 1)),)
    for var, extent in zip(reversed(names), reversed(reduce.extents[:-1]), strict=True):
        body = (For(var, wrap(extent), body),)
    return body
