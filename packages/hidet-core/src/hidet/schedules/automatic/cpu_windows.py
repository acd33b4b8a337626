"""Reductions on CPU whose neighbours read neighbours: windows, and long columns.

Vector lanes are outputs. A window of few elements is written out, so that its sum stays in a
register; the loops of a longer reduction run around a tile of outputs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from functools import reduce as fold
from itertools import product as product_of

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Load, Minimum, Var, combine, constant, wrap
from hidet.ir.stmt import Body, Declare, For, LoopKind, Store
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import constant_size, known_product, mostly_contiguous
from hidet.schedules.automatic.cpu_common import loop
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
    row, tile = Var("row", i32), Var("tile", i32)
    partial = Var("partial", TensorType(reduce.value.dtype, (TILE,), Scope.REGISTER))
    width = combine(Minimum, constant(TILE, i32), count - tile * TILE)
    outer = unravel(row, stage.shape[:-1])

    def place(lane: Var) -> dict[Var, Expr]:
        return dict(zip(stage.vars, (*outer, tile * TILE + lane), strict=True))

    names = [Var(var.name, i32) for var in reduce.vars]
    lane = Var("lane", i32)
    value = substitute(reduce.value, dict(zip(reduce.vars, names, strict=True)) | place(lane))
    before, element = with_serial_reductions(value, {})
    update = Store(partial, (lane,), joined(reduce.how, Load(partial, (lane,)), element))
    body: Body = (For(lane, width, (*before, update), LoopKind.VECTOR),)
    for var, extent in zip(reversed(names), reversed(reduce.extents), strict=True):
        body = (For(var, wrap(extent), body),)
    out = Var("lane", i32)
    write = put(stage, place(out), {reduce: Load(partial, (out,))})
    body = (Declare(partial, reduce.identity), *body, For(out, width, write, LoopKind.VECTOR))
    body = (For(tile, wrap(ceil_div(count, TILE)), body),)
    work = known_product((count, *reduce.extents))
    return (loop(row, product(stage.shape[:-1]), work, body),)
