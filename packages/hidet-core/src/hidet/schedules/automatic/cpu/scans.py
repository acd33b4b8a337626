"""Running combinations on CPU.

Along an axis that is not the last, vector lanes are neighbours along the last axes, an accumulator
each, so that memory is read and written in runs. Along the last axis, lanes are neighbours of a
row, which combine with those 1, 2, 4 and 8 places before them and then with what came before.
"""

from __future__ import annotations

from hidet.compute.places import unravel
from hidet.compute.reduction import identity
from hidet.compute.sizes import product
from hidet.ir.expr import (
    Expr,
    Lane,
    Load,
    Minimum,
    Pack,
    Splat,
    Var,
    combine,
    constant,
    convert,
    wrap,
)
from hidet.ir.stmt import Assign, Body, Declare, For, LoopKind, Put, Stmt, Store
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.cpu.lanes import LANES
from hidet.schedules.automatic.emit import ceil_div, joined
from hidet.schedules.automatic.lines import line, line_count
from hidet.schedules.automatic.plan import ScanStage, shape_of
from hidet.types import Scope, TensorType, f32, f64, i32, i64

TILE = 256
"""Neighbours that are combined together."""

BLOCK = 64
"""Elements of a line that are computed before they are combined."""
WIDE = (f32, f64, i32, i64)
"""Types of which vectors are combined."""


def scan_body(stage: ScanStage) -> Body:
    """The loops of a running combination."""
    if has_neighbours(stage):
        return scanned(stage)
    number = Var("line", i32)
    count = shape_of(stage.out)[stage.scan.axis]
    short = (constant_size(count) or LANES) < LANES or stage.scan.dtype not in WIDE
    body = line(stage, number) if short else along(stage, number)
    return (loop(number, line_count(stage), known_product((count,)), body),)


def has_neighbours(stage: ScanStage) -> bool:
    """Whether there are enough of them behind the axis for vectors."""
    behind = shape_of(stage.out)[stage.scan.axis + 1 :]
    return bool(behind) and (constant_size(product(behind)) or LANES) >= LANES


def scanned(stage: ScanStage) -> Body:
    """Tiles of neighbours over the threads, each along the whole axis."""
    shape, axis = shape_of(stage.out), stage.scan.axis
    ahead, count, behind = shape[:axis], shape[axis], shape[axis + 1 :]
    width, number, step = product(behind), Var("tile", i32), Var("step", i32)
    tiles = ceil_div(width, TILE)
    first = number % tiles * TILE
    here = combine(Minimum, constant(TILE, i32), wrap(width) - first)
    so_far = Var("partial", TensorType(stage.out.dtype, (TILE,), Scope.REGISTER))
    lane = Var("lane", i32)
    at = (*unravel(number // tiles, ahead), step, *unravel(first + lane, behind))
    total = joined(stage.scan.how, Load(so_far, (lane,)), stage.element(at))
    combined = Var("combined", total.dtype)
    iteration = (
        Declare(combined, total),
        Store(so_far, (lane,), combined),
        Put(stage.out, at, convert(combined, stage.out.dtype)),
    )
    steps = For(step, wrap(count), (For(lane, here, iteration, LoopKind.VECTOR),))
    start = identity(stage.scan.how, total.dtype)
    work = known_product((count,)) * TILE
    return (loop(number, product(ahead) * tiles, work, (Declare(so_far, start), steps)),)


def along(stage: ScanStage, number: Expr) -> Body:
    """One line along an axis whose elements are vector lanes, several vectors at a time; those
    behind the last follow one by one."""
    how, of, size = stage.scan.how, stage.scan.dtype, shape_of(stage.out)[stage.scan.axis]
    length = min(BLOCK, (constant_size(size) or BLOCK) // LANES * LANES)
    count = wrap(size)
    so_far, block, rest = Var("so_far", of), Var("block", i32), Var("rest", i32)
    whole = count // length * length
    step = place_in(stage, number, whole + rest)
    one_by_one = (
        Assign(so_far, joined(how, so_far, stage.element(step))),
        Put(stage.out, step, convert(so_far, stage.out.dtype)),
    )
    return (
        Declare(so_far, identity(how, of)),
        For(block, count // length, block_of(stage, number, block * length, length, so_far)),
        For(rest, count - whole, one_by_one),
    )


def block_of(stage: ScanStage, number: Expr, first: Expr, length: int, so_far: Var) -> Body:
    """Vectors of a line from `first` on: elements are computed, combined, then written, so that
    none is read as part of a vector right after it was written by itself."""
    kept = Var("kept", TensorType(stage.scan.dtype, (length,), Scope.REGISTER))
    lane = Var("lane", i32)
    at = place_in(stage, number, first + lane)
    read = Store(kept, (lane,), stage.element(at))
    write = Put(stage.out, at, convert(Load(kept, (lane,)), stage.out.dtype))
    combined = [vector_step(stage, kept, start, so_far) for start in range(0, length, LANES)]
    return (
        Declare(kept),
        For(lane, wrap(length), (read,), LoopKind.VECTOR),
        *(each for step in combined for each in step),
        For(lane, wrap(length), (write,), LoopKind.VECTOR),
    )


def vector_step(stage: ScanStage, kept: Var, start: int, so_far: Var) -> Body:
    """The running combinations of one vector, in steps that double, joined with `so_far`, which the
    last lane becomes."""
    how, of = stage.scan.how, stage.scan.dtype
    body: list[Stmt] = []
    value: Expr = Load(kept, (wrap(start),), LANES)
    for step in (1 << power for power in range(LANES.bit_length() - 1)):
        found = Var("combined", value.type)
        body.append(Declare(found, value))
        none = (identity(how, of),) * step
        before = Pack((*none, *(Lane(found, n) for n in range(LANES - step))))
        value = joined(how, found, before)
    total = Var("total", value.type)
    return (
        *body,
        Declare(total, joined(how, value, Splat(so_far, LANES))),
        Store(kept, (wrap(start),), total),
        Assign(so_far, Lane(total, LANES - 1)),
    )


def place_in(stage: ScanStage, number: Expr, step: Expr) -> tuple[Expr, ...]:
    """The place of an element of a line."""
    shape, axis = shape_of(stage.out), stage.scan.axis
    outer = unravel(number, [size for place, size in enumerate(shape) if place != axis])
    return (*outer[:axis], step, *outer[axis:])
