"""Elements along an axis that share much of what they compute, as channels of an image share the
places where it is sampled: that is computed once, for a strip of neighbours, and kept.

    before   for c, j:  y[c, j] = x[c, at(g[j])] * weight(g[j])
    after    for j:     place[j], factor[j] = at(g[j]), weight(g[j])
             for c, j:  y[c, j] = x[c, place[j]] * factor[j]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import (
    Binary,
    Cast,
    Expr,
    Get,
    Load,
    Math,
    Maximum,
    Minimum,
    Select,
    Unary,
    Var,
    combine,
    constant,
    convert,
    wrap,
)
from hidet.ir.stmt import Body, Declare, For, LoopKind, Store
from hidet.ir.walk import contains, find, replaced, substitute, variables
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.emit import ceil_div, put
from hidet.schedules.automatic.plan import MapStage
from hidet.types import DType, Scope, TensorType, boolean, i32

STRIP = 64
"""Neighbours of which what is shared is kept: some vectors of each value, in the first cache."""
FEWEST = 4
"""Elements along an axis from which on to keep what they share is worth a pass of its own."""
MUCH = 16
"""Operations for each element from which on it is."""
THREADS = 16
"""Strips that there have to be, since the axis is no longer shared by the team."""


@dataclass(frozen=True)
class Shared:
    """An axis, and what of a stage's value its elements share."""

    axis: int
    values: tuple[Expr, ...]


def shared(stage: MapStage) -> Shared | None:
    """The axis along which most is shared; None if it is not much."""
    if stage.also or len(stage.shape) < 2:
        return None
    able = [axis for axis in range(len(stage.shape) - 1) if is_able(stage, axis)]
    found = [
        Shared(axis, tuple(dict.fromkeys(invariant(stage.value, stage.vars[axis]))))
        for axis in able
    ]
    best = max(found, key=operations, default=None)
    return best if best is not None and operations(best) >= MUCH else None


def is_able(stage: MapStage, axis: int) -> bool:
    """Whether there are several elements along an axis, and strips enough along the others."""
    others = [size for place, size in enumerate(stage.shape[:-1]) if place != axis]
    strips = known_product(others) * -(-(constant_size(stage.shape[-1]) or STRIP) // STRIP)
    return (constant_size(stage.shape[axis]) or FEWEST) >= FEWEST and strips >= THREADS


def invariant(e: Expr, var: Var) -> Iterator[Expr]:
    """The largest parts of an expression that compute something of operands, but not of `var`.

    Limits of a place stay where it is read, so that the read is known to lie inside.
    """
    if var not in variables(e):
        if computes(e):
            yield e
        return
    children = [each for each in e.children() if isinstance(each, Expr)]
    for child in map(unlimited, children) if isinstance(e, Get) else children:
        yield from invariant(child, var)


def unlimited(place: Expr) -> Expr:
    """What is held within bounds to be a place."""
    while isinstance(place, Maximum | Minimum) and not variables(place.b):
        place = place.a
    return place


def computes(e: Expr) -> bool:
    """Whether something is computed of an operand."""
    return contains(e, Get) and not isinstance(e, Get)


def operations(found: Shared) -> int:
    """How much is shared."""
    nodes = find(found.values, Expr)
    return sum(isinstance(e, Binary | Unary | Math | Select | Cast) and computes(e) for e in nodes)


def by_strips(stage: MapStage, found: Shared) -> Body:
    """Strips of the last axis over the team: what is shared, then the elements along the axis."""
    axis, width = found.axis, min(STRIP, constant_size(stage.shape[-1]) or STRIP)
    others = [size for place, size in enumerate(stage.shape[:-1]) if place != axis]
    strips = ceil_div(stage.shape[-1], width)
    number, lane = Var("strip", i32), Var("lane", i32)
    outer = unravel(number // strips, others)
    first = number % strips * width
    where = (*outer[:axis], stage.vars[axis], *outer[axis:], first + lane)
    index = dict(zip(stage.vars, where, strict=True))
    rest = wrap(stage.shape[-1]) - first
    here = combine(Minimum, constant(width, i32), rest) if strips != 1 else wrap(width)
    kept = {e: Var("shared", TensorType(held(e), (width,), Scope.REGISTER)) for e in found.values}
    stores = [
        Store(array, (lane,), convert(substitute(e, index), held(e))) for e, array in kept.items()
    ]
    # Read whether or not it is needed: compilers make no vectors of what a condition reads.
    own = {e: Var("own", held(e)) for e in found.values}
    reads = [Declare(own[e], Load(array, (lane,))) for e, array in kept.items()]
    known = {e: each.ne(0) if e.dtype is boolean else each for e, each in own.items()}
    element = replace(stage, value=replaced(stage.value, known))
    write = For(lane, here, (*reads, *put(element, index, {})), LoopKind.VECTOR)
    body = (
        *(Declare(each) for each in kept.values()),
        For(lane, here, tuple(stores), LoopKind.VECTOR),
        For(stage.vars[axis], wrap(stage.shape[axis]), (write,)),
    )
    work = width * known_product((stage.shape[axis],))
    return (loop(number, product(others) * strips, work, body),)


def held(e: Expr) -> DType:
    """The type in which a value is kept: of flags as integers compilers make vectors."""
    return i32 if e.dtype is boolean else e.dtype
