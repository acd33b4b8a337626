"""Reductions on CPU along consecutive elements: an accumulator for each vector lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from hidet.compute import ArgReduce, Reduce
from hidet.compute.places import ravel
from hidet.ir.expr import Cast, Expr, Load, Math, NotEqual, Or, Select, Var, constant, wrap
from hidet.ir.stmt import Assign, Body, Declare, For, LoopKind, Stmt, Store
from hidet.ir.walk import contains, replaced, substitute
from hidet.schedules.automatic.access import constant_size, contiguous, reads, stride
from hidet.schedules.automatic.emit import AnyReduce, joined, with_serial_reductions
from hidet.schedules.automatic.plan import reductions, shape_of
from hidet.types import Scope, TensorType, i32, i64

LANES = 16
"""Accumulators of a short row: one vector."""
MOST_LANES = 64
"""Accumulators of a long one: a sum waits for the one before it as long as four vectors take."""
LONG = 256
"""Elements from which a row is long."""
FEW = 4
"""Elements behind the last vector up to which they are combined one by one: what a vector reads
right after one of its elements was written waits for it."""
LAST = 2**31 - 1
"""A position behind all others."""


def lanes_of(reduce: AnyReduce) -> int | None:
    """How many accumulators a reduction along consecutive elements has; None if it is none."""
    last = constant_size(reduce.extents[-1])
    if last is None or last < LANES or not contiguous(reduce.value, reduce.vars[-1]):
        return None
    return LANES if last < LONG else MOST_LANES


Keep: TypeAlias = Callable[[Expr, Expr], Stmt]
"""What stores an element that a reduction combines, given its place and the element."""


Join: TypeAlias = Callable[[Expr, Expr], Expr]
"""What combines an accumulator with an element, or with another accumulator."""


def lane_reduce(
    reduce: Reduce, value: Expr, suffix: str, lanes: int, join: Join, keep: Keep | None = None
) -> tuple[Body, Expr]:
    """The statements of a reduction with so many accumulators, and its result; `keep` stores what
    is combined."""
    partial = Var("partial" + suffix, TensorType(value.dtype, (lanes,), Scope.REGISTER))
    outer = [Var(var.name, i32) for var in reduce.vars[:-1]]
    count = constant_size(reduce.extents[-1]) or 0

    def element_at(place: Expr) -> tuple[list[Stmt], Expr]:
        # With a name for the place, what is divided into axes comes together again as it is.
        at = Var("at", i32)
        here = substitute(value, dict(zip(reduce.vars, (*outer, at), strict=True)))
        before, element = with_serial_reductions(here, {})
        named = Var("element", element.dtype)
        stored = [keep(at, named)] if keep is not None else []
        return [Declare(at, place), *before, Declare(named, element), *stored], named

    def step(place: Expr, slot: Expr) -> Body:
        before, element = element_at(place)
        so_far = Load(partial, (slot,))
        return (*before, Store(partial, (slot,), join(so_far, element)))

    def around(body: Body) -> Body:
        for var, extent in zip(reversed(outer), reversed(reduce.extents[:-1]), strict=True):
            body = (For(var, wrap(extent), body),)
        return body

    chunk, lane, rest = Var("chunk", i32), Var("lane", i32), Var("rest", i32)
    total = Var("total" + suffix, value.dtype)
    whole = For(lane, wrap(lanes), step(chunk * lanes + lane, lane), LoopKind.VECTOR)
    body: Body = (For(chunk, wrap(count // lanes), (whole,)),)
    done, left = wrap(count // lanes * lanes), count % lanes
    after: Body = ()
    if left > FEW:
        body += (For(rest, wrap(left), step(rest + done, rest), LoopKind.VECTOR),)
    elif left:
        before, element = element_at(rest + done)
        take = Assign(total, join(total, element))
        after = around((For(rest, wrap(left), (*before, take)),))
    start = Declare(partial, reduce.identity)
    end = (*halved(partial, lanes, join), Declare(total, Load(partial, (wrap(0),))))
    return (start, *around(body), *end, *after), total


def join_of(reduce: AnyReduce) -> Join:
    """What a reduction combines by."""
    return partial(joined, reduce.how)


def greater(a: Expr, b: Expr) -> Expr:
    """The greater of two, by one instruction; what is no number never is."""
    return Select(a < b, b, a)


def halved(partial: Var, lanes: int, join: Join) -> Body:
    """Combine accumulators, half of them with the other half, until one is left."""
    body: list[Stmt] = []
    while lanes > 1:
        lanes //= 2
        lane = Var("lane", i32)
        both = join(Load(partial, (lane,)), Load(partial, (lane + lanes,)))
        body.append(For(lane, wrap(lanes), (Store(partial, (lane,), both),), LoopKind.VECTOR))
    return tuple(body)


def merged(reduce: AnyReduce) -> AnyReduce:
    """A reduction whose innermost axes, as far as they lie in memory as one run, are one."""
    reduce = in_memory_order(reduce)
    while len(reduce.vars) > 1:
        size = constant_size(reduce.extents[-1])
        outer = constant_size(reduce.extents[-2])
        if size is None or outer is None or not in_one_run(reduce.value, reduce.vars[-2:], size):
            break
        run = Var("run", i32)
        places = dict(zip(reduce.vars[-2:], (run // size, run % size), strict=True))
        reduce = replace(
            reduce,
            vars=(*reduce.vars[:-2], run),
            extents=(*reduce.extents[:-2], outer * size),
            value=substitute(reduce.value, places),
        )
    return reduce


def in_memory_order(reduce: AnyReduce) -> AnyReduce:
    """A reduction that goes along what it reads first as that lies in memory: of images with their
    channels last it takes those innermost."""
    found = [each for each in reads(reduce.value) if shape_of(each.tensor)]
    steps = [stride(found[0], var) if found else None for var in reduce.vars]
    if not isinstance(reduce, Reduce) or not all(isinstance(each, int) for each in steps):
        return reduce
    order = sorted(range(len(steps)), key=lambda axis: -(steps[axis] or 0))
    return replace(
        reduce,
        vars=tuple(reduce.vars[each] for each in order),
        extents=tuple(reduce.extents[each] for each in order),
    )


def in_one_run(value: Expr, axes: tuple[Var, ...], size: int) -> bool:
    """Whether all reads go on at the end of the inner of two axes where the outer one steps to."""
    outer, inner = axes
    found = [each for each in reads(value) if shape_of(each.tensor)]
    steps = [(stride(each, outer), stride(each, inner)) for each in found]
    return bool(steps) and all(b is not None and a == b * size for a, b in steps)


def placed_by_value(value: Expr) -> Expr:
    """`value` with positions of extremes looked for by the extreme: the greatest element in vector
    lanes, then the first place that has it. A NaN wins over numbers, so where it is the extreme the
    first one is looked for."""
    known: dict[Expr, Expr] = {
        each: first_place(each)
        for each in reductions(value)
        if isinstance(each, ArgReduce) and lanes_of(each) and not contains(each.value, Math)
    }
    return replaced(value, known) if known else value


def first_place(arg: ArgReduce) -> Expr:
    """The first place of the extreme among all elements."""
    names = tuple(Var(var.name, i32) for var in arg.vars)
    value = substitute(arg.value, dict(zip(arg.vars, names, strict=True)))
    extreme = Reduce(names, arg.extents, value, arg.how)
    here: Expr = arg.value.eq(extreme)
    if arg.value.dtype.is_float:
        here = Or(here, NotEqual(arg.value, arg.value))
    place = Select(here, ravel(arg.vars, arg.extents), constant(LAST, i32))
    return Cast(Reduce(arg.vars, arg.extents, place, "min"), i64)
