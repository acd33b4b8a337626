"""The automatic schedule on CPU: rows over the threads of the team, elements over vector lanes."""

from __future__ import annotations

from hidet.compute import Reduce
from hidet.compute.places import ravel, unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Load, Minimum, Value, Var, combine, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Body, Declare, For, LoopKind, Stmt, Store
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import (
    constant_size,
    contiguous,
    known_product,
    mostly_contiguous,
)
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    ceil_div,
    free,
    joined,
    put,
    row_level,
    with_serial_reductions,
)
from hidet.schedules.automatic.lines import line, line_count
from hidet.schedules.automatic.plan import MapStage, Stage
from hidet.schedules.automatic.runs import by_runs
from hidet.target import Target
from hidet.types import Scope, TensorType, i32

PARALLEL_WORK = 1 << 14
"""Elements below which starting the team costs more than it saves."""
LANES = 16
TILE = 64
NEAR = 4
"""Steps up to which a vector gathered from memory is faster than its elements one by one."""


def stage_kernel(stage: Stage, name: str, params: tuple[Var, ...], target: Target) -> Kernel:
    """The kernel of one stage."""
    if isinstance(stage, MapStage):
        body = map_body(stage)
    else:
        number = Var("line", i32)
        count = line_count(stage)
        body = (loop(number, count, 64, line(stage, number)),)
    return Kernel(name, params, body, KernelKind.CPU)


def map_body(stage: MapStage) -> Body:
    """The loops of a stage without or with reductions."""
    reduces = row_level(stage)
    if not reduces:
        return elementwise(stage)
    needed = set().union(*(free(each) for each in reduces))
    real = {v for v, n in zip(stage.vars, stage.shape, strict=True) if n != 1}
    if real and real <= needed and tiled(stage, reduces):
        return tiles(stage, reduces)
    return rows(by_runs(stage))


def loop(var: Var, count: Value, work_each: int, body: Body) -> Stmt:
    """A loop over the team's threads, serial if there is too little to do."""
    known = constant_size(count) if isinstance(count, int | Expr) else None
    small = known is not None and known * work_each < PARALLEL_WORK
    kind = LoopKind.SERIAL if small or known == 1 else LoopKind.PARALLEL
    return For(var, wrap(count), body, kind)


def elementwise(stage: MapStage) -> Body:
    """Rows of the last axis over the team, elements of a row over vector lanes."""
    if not stage.shape:
        return put(stage, {}, {})
    row, last = Var("row", i32), Var("column", i32)
    index = (*unravel(row, stage.shape[:-1]), last)
    body = put(stage, dict(zip(stage.vars, index, strict=True)), {})
    inner = For(last, wrap(stage.shape[-1]), body, LoopKind.VECTOR)
    return (loop(row, product(stage.shape[:-1]), known_product(stage.shape[-1:]), (inner,)),)


def rows(stage: MapStage) -> Body:
    """Each row computes its reductions, each once, then writes its elements."""
    reduces = row_level(stage)
    needed = set().union(*(free(each) for each in reduces))
    inner = [v for v, n in zip(stage.vars, stage.shape, strict=True) if v not in needed and n != 1]
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    row_vars = [var for var in stage.vars if var not in inner]
    row = Var("row", i32)
    row_sizes = [sizes[var] for var in row_vars]
    index = dict(zip(row_vars, unravel(row, row_sizes), strict=True))
    known: dict[Expr, Expr] = {}
    body: list[Stmt] = []
    work = known_product([sizes[var] for var in inner])
    for position, reduce in enumerate(reduces):
        steps, known[reduce] = row_reduce(reduce, index, known, str(position))
        body += steps
        work += known_product(reduce.extents)
    body += row_elements(stage, inner, index, known)
    return (loop(row, product(row_sizes), work, tuple(body)),)


def row_elements(
    stage: MapStage, inner: list[Var], index: dict[Var, Expr], known: dict[Expr, Expr]
) -> Body:
    """Write a row: the innermost axis over vector lanes."""
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    names = {var: Var(var.name, i32) for var in inner}
    body = put(stage, index | names, known)
    for depth, var in enumerate(reversed(inner)):
        kind = LoopKind.VECTOR if depth == 0 else LoopKind.SERIAL
        body = (For(names[var], wrap(sizes[var]), body, kind),)
    return body


def row_reduce(
    reduce: AnyReduce, index: dict[Var, Expr], known: dict[Expr, Expr], suffix: str
) -> tuple[Body, Expr]:
    """One reduction of a row; in vector lanes where it walks along consecutive elements."""
    value = substitute(replaced(reduce.value, known), index)
    last = constant_size(reduce.extents[-1])
    long = last is not None and last >= LANES
    if isinstance(reduce, Reduce) and long and contiguous(reduce.value, reduce.vars[-1]):
        return lane_reduce(reduce, value, suffix)
    accumulator = Accumulator(reduce, suffix)
    names = [Var(var.name, i32) for var in reduce.vars]
    before, element = with_serial_reductions(
        substitute(value, dict(zip(reduce.vars, names, strict=True))), {}
    )
    body: Body = before + accumulator.take(element, ravel(names, reduce.extents))
    for var, extent in zip(reversed(names), reversed(reduce.extents), strict=True):
        body = (For(var, wrap(extent), body),)
    return accumulator.start() + body, accumulator.result


def lane_reduce(reduce: Reduce, value: Expr, suffix: str) -> tuple[Body, Expr]:
    """A reduction with an accumulator for each vector lane; the lanes are combined at the end."""
    partial = Var("partial" + suffix, TensorType(value.dtype, (LANES,), Scope.REGISTER))
    total = Accumulator(reduce, suffix)
    outer = [Var(var.name, i32) for var in reduce.vars[:-1]]
    count = constant_size(reduce.extents[-1]) or 0

    def step(place: Expr, slot: Expr) -> Body:
        here = substitute(value, dict(zip(reduce.vars, (*outer, place), strict=True)))
        before, element = with_serial_reductions(here, {})
        kept = Load(partial, (slot,))
        return (*before, Store(partial, (slot,), joined(reduce.how, kept, element)))

    chunk, lane, rest = Var("chunk", i32), Var("lane", i32), Var("rest", i32)
    lanes = constant(LANES, i32)
    whole = For(lane, lanes, step(chunk * LANES + lane, lane), LoopKind.VECTOR)
    body: Body = (For(chunk, constant(count // LANES, i32), (whole,)),)
    if count % LANES:
        tail = step(rest + count // LANES * LANES, rest)
        body += (For(rest, constant(count % LANES, i32), tail),)
    for var, extent in zip(reversed(outer), reversed(reduce.extents[:-1]), strict=True):
        body = (For(var, wrap(extent), body),)
    each = Var("lane", i32)
    combine_all = For(each, lanes, total.merge([Load(partial, (each,))]))
    start = Declare(partial, reduce.identity)
    return (start, *body, *total.start(), combine_all), total.result


def tiled(stage: MapStage, reduces: list[AnyReduce]) -> bool:
    """Whether neighbouring outputs read elements near one another, so that lanes may be outputs."""
    last = stage.vars[-1]
    plain = all(isinstance(each, Reduce) for each in reduces) and len(reduces) == 1
    return plain and stage.shape[-1] != 1 and mostly_contiguous(reduces[0].value, last, NEAR)


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
