"""Reductions on CPU that a row of results shares: each is computed once, ahead of the row."""

from __future__ import annotations

from dataclasses import replace

from hidet.compute import Reduce
from hidet.compute.places import ravel, unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Div, Expr, Load, Math, Mul, Var, constant, wrap
from hidet.ir.stmt import Body, Declare, For, LoopKind, Stmt, Store
from hidet.ir.walk import contains, find, replaced, substitute
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.cpu.lanes import (
    Join,
    Keep,
    greater,
    join_of,
    lane_reduce,
    lanes_of,
    merged,
    placed_by_value,
)
from hidet.schedules.automatic.emit import (
    Accumulator,
    AnyReduce,
    free,
    put,
    row_level,
    with_serial_reductions,
)
from hidet.schedules.automatic.pivot import Powers, pivot_of
from hidet.schedules.automatic.plan import MapStage
from hidet.schedules.automatic.reciprocal import by_reciprocals
from hidet.types import Scope, TensorType, i32

KEPT = 1 << 13
"""Elements of a row that are kept from its reduction until it is written: what a cache holds."""


def rows(stage: MapStage) -> Body:
    """Each row computes its reductions, each once, then writes its elements."""
    stage = prepared(stage)
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
        again = summed_again(stage, reduce, inner)
        keep = None
        if again is not None:
            kept = Var("kept", row_of(reduce))
            body.append(Declare(kept))
            keep = into(kept)
        join = greater if tells_nan(stage, reduce, reduces) else join_of(reduce)
        steps, result = row_reduce(flushed(reduce), index, known, str(position), join, keep)
        body += steps
        known[reduce] = result
        if again is not None:
            known[again] = Load(kept, tuple(inner))
        work += known_product(reduce.extents)
    body += row_elements(stage, inner, index, known)
    return (loop(row, product(row_sizes), work, tuple(body)),)


def prepared(stage: MapStage) -> MapStage:
    """The stage with cheaper forms of its values: products for quotients, positions by values."""

    def cheaper(value: Expr) -> Expr:
        return placed_by_value(by_reciprocals(value))

    also = tuple((out, cheaper(value)) for out, value in stage.also)
    return replace(stage, value=cheaper(stage.value), also=also)


def summed_again(stage: MapStage, reduce: AnyReduce, inner: list[Var]) -> Expr | None:
    """What a reduction combines, where the row is written by it too: the powers of a softmax."""
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    alike = len(reduce.vars) == len(inner) == 1 and reduce.extents == (sizes[inner[0]],)
    if not (alike and isinstance(reduce, Reduce) and contains(reduce.value, Math)):
        return None
    count = constant_size(reduce.extents[0])
    if count is None or count > KEPT or lanes_of(reduce) is None:
        return None
    again = substitute(reduce.value, {reduce.vars[0]: inner[0]})
    values = (stage.value, *(value for _, value in stage.also))
    return again if again in set(find(values, Expr)) else None


def flushed(reduce: AnyReduce) -> AnyReduce:
    """The reduction without powers that are less than the least normal number."""
    pivot = pivot_of(reduce)
    return reduce if pivot is None else replace(reduce, value=pivot.flushed(reduce.value))


def row_of(reduce: AnyReduce) -> TensorType:
    """What holds all that a reduction combines."""
    return TensorType(reduce.value.dtype, reduce.extents, Scope.REGISTER)


def tells_nan(stage: MapStage, greatest: AnyReduce, reduces: list[AnyReduce]) -> bool:
    """Whether results are no numbers where a value of the row is none, whatever is taken for the
    greatest: as in a softmax that alone asks for it, each result of which has the sum of powers."""
    pivot = next((p for p in map(pivot_of, reduces) if p and p.first is greatest), None)
    if not isinstance(pivot, Powers):
        return False
    for value in (stage.value, *(value for _, value in stage.also)):
        scaled = [e for e in find(value, Mul) if isinstance(e.b, Div) and e.b.b is pivot.total]
        rest = replaced(value, dict.fromkeys(scaled, constant(1, pivot.total.dtype)))
        if not scaled or greatest in set(find(rest, Expr)):
            return False
    return True


def into(kept: Var) -> Keep:
    """What stores elements in an array of one axis."""
    return lambda place, element: Store(kept, (place,), element)


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
    reduce: AnyReduce,
    index: dict[Var, Expr],
    known: dict[Expr, Expr],
    suffix: str,
    join: Join,
    keep: Keep | None = None,
) -> tuple[Body, Expr]:
    """One reduction of a row; in vector lanes where it goes along consecutive elements. `keep`
    stores what it combines."""
    whole = merged(reduce)
    value = substitute(replaced(whole.value, known), index)
    lanes = lanes_of(whole)
    if lanes is not None and isinstance(whole, Reduce):
        return lane_reduce(whole, value, suffix, lanes, join, keep)
    accumulator = Accumulator(reduce, suffix)
    value = substitute(replaced(reduce.value, known), index)
    names = [Var(var.name, i32) for var in reduce.vars]
    before, element = with_serial_reductions(
        substitute(value, dict(zip(reduce.vars, names, strict=True))), {}
    )
    place = ravel(names, reduce.extents)
    stored = () if keep is None else (keep(place, element),)
    body: Body = (*before, *stored, *accumulator.take(element, place))
    for var, extent in zip(reversed(names), reversed(reduce.extents), strict=True):
        body = (For(var, wrap(extent), body),)
    return accumulator.start() + body, accumulator.result
