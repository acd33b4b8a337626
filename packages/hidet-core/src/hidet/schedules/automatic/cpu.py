"""The automatic schedule on CPU: rows over the threads of the team, elements over vector lanes."""

from __future__ import annotations

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Body, For, LoopKind
from hidet.schedules.automatic.access import known_product
from hidet.schedules.automatic.cpu_common import loop
from hidet.schedules.automatic.cpu_rows import rows
from hidet.schedules.automatic.cpu_transpose import turned, turned_axis
from hidet.schedules.automatic.cpu_windows import few, tiled, tiles, written_out
from hidet.schedules.automatic.emit import free, put, row_level
from hidet.schedules.automatic.lines import line, line_count
from hidet.schedules.automatic.plan import MapStage, Stage
from hidet.schedules.automatic.runs import by_runs
from hidet.target import Target
from hidet.types import i32


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
        axis = turned_axis(stage)
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
    row, last = Var("row", i32), Var("column", i32)
    index = (*unravel(row, stage.shape[:-1]), last)
    body = put(stage, dict(zip(stage.vars, index, strict=True)), {})
    inner = For(last, wrap(stage.shape[-1]), body, LoopKind.VECTOR)
    return (loop(row, product(stage.shape[:-1]), known_product(stage.shape[-1:]), (inner,)),)
