"""Running combinations on CPU along an axis that is not the last: vector lanes are neighbours along
the last axes, an accumulator each, so that memory is read and written in runs."""

from __future__ import annotations

from hidet.compute import Reduce
from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Get, Load, Minimum, Var, combine, constant, convert, wrap
from hidet.ir.stmt import Body, Declare, For, LoopKind, Put, Store
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.cpu.lanes import LANES
from hidet.schedules.automatic.emit import ceil_div, joined
from hidet.schedules.automatic.plan import ScanStage, shape_of
from hidet.types import Scope, TensorType, i32

TILE = 256
"""Neighbours that are combined together."""


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
    total = joined(stage.scan.how, Load(so_far, (lane,)), Get(stage.source, at))
    combined = Var("combined", total.dtype)
    turn = (
        Declare(combined, total),
        Store(so_far, (lane,), combined),
        Put(stage.out, at, convert(combined, stage.out.dtype)),
    )
    along = For(step, wrap(count), (For(lane, here, turn, LoopKind.VECTOR),))
    start = Reduce((step,), (count,), Get(stage.source, at), stage.scan.how).identity
    work = known_product((count,)) * TILE
    return (loop(number, product(ahead) * tiles, work, (Declare(so_far, start), along)),)
