"""The automatic schedule on CPU: rows over the threads of the team, elements over vector lanes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isqrt

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Const, Expr, Get, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Body, Declare, For, LoopKind
from hidet.ir.walk import find, replaced, variables
from hidet.schedules.automatic.access import constant_size, known_product
from hidet.schedules.automatic.cpu.common import loop
from hidet.schedules.automatic.cpu.lanes import LANES, LONG, in_one_run
from hidet.schedules.automatic.cpu.pieces import pieces
from hidet.schedules.automatic.cpu.rows import rows
from hidet.schedules.automatic.cpu.scans import scan_body
from hidet.schedules.automatic.cpu.shared import by_strips, shared
from hidet.schedules.automatic.cpu.transpose import turned, turned_axis
from hidet.schedules.automatic.cpu.windows import few, tiled, tiles, written_out
from hidet.schedules.automatic.emit import free, put, row_level
from hidet.schedules.automatic.lines import line, line_count
from hidet.schedules.automatic.plan import MapStage, PieceStage, ScanStage, Stage
from hidet.schedules.automatic.runs import by_runs
from hidet.target import Target
from hidet.types import i32

FEW = 4
"""Elements of a last axis up to which it is no vector by itself."""
LONGEST = 1 << 12
"""Elements of axes up to which they are one row: more is work for several threads."""


def stage_kernel(stage: Stage, name: str, params: tuple[Var, ...], target: Target) -> Kernel:
    """The kernel of one stage."""
    if isinstance(stage, MapStage):
        body = map_body(stage)
    elif isinstance(stage, PieceStage):
        body = pieces(stage)
    elif isinstance(stage, ScanStage):
        body = scan_body(stage)
    else:
        number = Var("line", i32)
        count = line_count(stage)
        body = (loop(number, count, 64, line(stage, number)),)
    return Kernel(name, params, body, KernelKind.CPU)


def map_body(stage: MapStage) -> Body:
    """The loops of a stage without or with reductions."""
    reduces = row_level(stage)
    if not reduces:
        axis, found = turned_axis(stage), shared(stage)
        if found is not None:
            return by_strips(stage, found)
        return elementwise(stage) if axis is None else turned(stage, axis)
    needed = set().union(*(free(each) for each in reduces))
    real = {v for v, n in zip(stage.vars, stage.shape, strict=True) if n != 1}
    if real and real <= needed and tiled(stage, reduces):
        if few(reduces[0]):
            return elementwise(written_out(stage, reduces[0]))
        return tiles(stage, reduces)
    return rows(by_runs(stage))


def elementwise(stage: MapStage) -> Body:
    """Rows of the last axis over the team, elements of a row over vector lanes."""
    if not stage.shape:
        return put(stage, {}, {})
    if lies_in_one_run(stage):
        return stretches(stage)
    row, last = Var("row", i32), Var("column", i32)
    outer, inner = stage.shape[: -columns(stage)], stage.shape[-columns(stage) :]
    index = (*unravel(row, outer), *unravel(last, inner))
    body = put(stage, dict(zip(stage.vars, index, strict=True)), {})
    vectors = For(last, wrap(product(inner)), body, LoopKind.VECTOR)
    return (loop(row, product(outer), known_product(inner), (vectors,)),)


def stretches(stage: MapStage) -> Body:
    """Stretches of a run over the team, whatever the axes, elements of one over vector lanes."""
    # With a name for the place, what is divided into axes comes together again as it is.
    row, last, at = Var("row", i32), Var("column", i32), Var("at", i32)
    total = known_product(stage.shape)
    length = stretch(total)
    place = dict(zip(stage.vars, unravel(at, stage.shape), strict=True))
    body = (Declare(at, row * length + last), *put(stage, place, {}))
    vectors = For(last, wrap(length), body, LoopKind.VECTOR)
    return (loop(row, total // length, length, (vectors,)),)


def stretch(total: int) -> int:
    """Elements of each of equal stretches of a run, as many as a row has at most or nearly so."""
    small = [n for n in range(1, isqrt(total) + 1) if total % n == 0]
    return min([*small, *(total // n for n in small)], key=lambda n: max(n / LONGEST, LONGEST / n))


def lies_in_one_run(stage: MapStage) -> bool:
    """Whether more than a stretch is one run in memory, of all that is read, in rows that are short
    or no whole vectors, or in one row that the team could not share."""
    sizes = [constant_size(each) for each in stage.shape]
    if None in sizes or known_product(stage.shape) <= LONGEST or not is_plain(stage, stage.vars):
        return False
    row = known_product(stage.shape[-columns(stage) :])
    if len(sizes) > 1 and row % LANES == 0 and row >= LONG:
        return False
    real = [(var, size) for var, size in zip(stage.vars, sizes, strict=True) if size != 1]
    values = [stage.value, *(value for _, value in stage.also)]
    return all(
        in_one_run(value, (outer, inner), size or 0)
        for (outer, _), (inner, size) in pairwise(real)
        for value in values
    )


def is_plain(stage: MapStage, axes: Sequence[Var]) -> bool:
    """Whether elements are read at the places that are written along some axes, and nothing else
    asks for a place there."""
    values = [stage.value, *(value for _, value in stage.also)]
    found = list(dict.fromkeys(find(values, Get)))
    asked: dict[Expr, Expr] = {read: Var("read", read.dtype) for read in found}
    others = variables([replaced(value, asked) for value in values])
    own = set(axes)
    plain = all(
        isinstance(each, Var | Const) or own.isdisjoint(variables(each))
        for read in found
        for each in read.index
    )
    return plain and bool(found) and own.isdisjoint(others)


def columns(stage: MapStage) -> int:
    """How many last axes are a row: the last that has several elements, and one more where that is
    no vector, as that of pairs, or would end in iterations that are none while its neighbour goes
    on; and enough axes are left for the team."""
    ones = 0
    while ones < len(stage.shape) - 2 and stage.shape[-1 - ones] == 1:
        ones += 1
    if len(stage.shape) - ones < 3:
        return 1 + ones
    short = stage.shape[-1 - ones]
    pairs = isinstance(short, int) and 1 < short <= FEW
    return 1 + ones + (pairs or goes_on(stage, ones))


def goes_on(stage: MapStage, ones: int) -> bool:
    """Whether two last axes, ahead of some of one element, of which the last is no whole vectors
    are one run in memory, of all that is read, and nothing else asks for a place along them."""
    last = stage.vars[len(stage.vars) - ones - 2 :][:2]
    count, size = (constant_size(stage.shape[stage.vars.index(each)]) for each in last)
    if not (count and size and size % LANES and LANES < count * size <= LONGEST):
        return False
    values = [stage.value, *(value for _, value in stage.also)]
    return is_plain(stage, last) and all(in_one_run(v, last, size) for v in values)
