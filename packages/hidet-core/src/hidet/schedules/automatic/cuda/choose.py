"""The automatic schedule on CUDA: each stage of a definition becomes one kernel."""

from __future__ import annotations

from dataclasses import replace

from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel
from hidet.schedules.automatic.cuda.choose_rows import choose_rows
from hidet.schedules.automatic.cuda.column_shape import choose_columns
from hidet.schedules.automatic.cuda.columns import Columns
from hidet.schedules.automatic.cuda.elementwise import elementwise_kernel
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, guarded, kernel
from hidet.schedules.automatic.cuda.lasting import lasting
from hidet.schedules.automatic.cuda.reduction import reduction_kernel
from hidet.schedules.automatic.cuda.transpose import choose_tile, transpose_kernel
from hidet.schedules.automatic.cuda.windows import choose_windows, windows_kernel
from hidet.schedules.automatic.emit import ceil_div, row_level
from hidet.schedules.automatic.lines import line, line_count
from hidet.schedules.automatic.plan import MapStage, PieceStage, Stage
from hidet.schedules.automatic.reciprocal import by_reciprocals
from hidet.schedules.automatic.runs import by_runs
from hidet.target import Target

THREADS = 128


def stage_kernel(stage: Stage, name: str, params: tuple[Var, ...], target: Target) -> Kernel:
    """The kernel of one stage."""
    if isinstance(stage, MapStage):
        also = tuple((out, by_reciprocals(value)) for out, value in stage.also)
        stage = replace(stage, value=by_reciprocals(stage.value), also=also)
        made = map_kernel(stage, name, params, target)
        return replace(made, lasting=lasting(stage, target))
    assert not isinstance(stage, PieceStage), "only CPUs have pieces of rows"
    number = BLOCK * THREADS + THREAD
    count = line_count(stage)
    body = guarded(number, count, THREADS, line(stage, number))
    return kernel(name, params, body, ceil_div(count, THREADS), THREADS)


def map_kernel(stage: MapStage, name: str, params: tuple[Var, ...], target: Target) -> Kernel:
    """That of one where each element is computed by itself."""
    reduces = row_level(stage)
    tile = None if reduces else choose_tile(stage)
    if tile is not None:
        return transpose_kernel(stage, name, params, tile)
    if not reduces:
        return elementwise_kernel(stage, name, params, target)
    columns = choose_columns(stage, reduces, target)
    if columns is not None:
        return reduction_kernel(Columns(stage, columns, reduces), name, params)
    windows = choose_windows(stage, reduces, target)
    if windows is not None:
        return windows_kernel(stage, name, params, windows)
    stage = by_runs(stage)
    return reduction_kernel(choose_rows(stage, row_level(stage), target), name, params)
