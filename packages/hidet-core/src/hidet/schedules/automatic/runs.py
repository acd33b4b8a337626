"""Axes of which a stage's reductions see only runs, as two axes each.

A group norm has one mean for a run of channels: of a channel's index c its reductions know c // 16.
With runs and places in a run as axes of their own, the row that shares a reduction is all that a
run holds, and each reduction is computed once.
"""

from __future__ import annotations

from dataclasses import replace

from hidet.ir.expr import Const, Expr, FloorDiv, Var
from hidet.ir.walk import find, replaced, substitute, variables
from hidet.schedules.automatic.access import constant_size
from hidet.schedules.automatic.emit import free, row_level
from hidet.schedules.automatic.plan import MapStage
from hidet.types import i32


def by_runs(stage: MapStage) -> MapStage:
    """The stage with every such axis in two."""
    for var, size in zip(stage.vars, stage.shape, strict=True):
        length = run_length(stage, var)
        extent = constant_size(size)
        if length is not None and extent is not None and extent % length == 0:
            stage = in_runs(stage, var, extent, length)
    return stage


def run_length(stage: MapStage, var: Var) -> int | None:
    """How many values of `var` in a row are the same to all reductions; None: not the same number
    to all of them, or just one."""
    reduces = [each for each in row_level(stage) if var in free(each)]
    found = {
        int(e.b.value) for e in find(reduces, FloorDiv) if e.a is var and isinstance(e.b, Const)
    }
    if len(found) != 1:
        return None
    (length,) = found
    rest = (replaced(each, {var // length: Const(0, i32)}) for each in reduces)
    return length if not any(var in variables(each) for each in rest) else None


def in_runs(stage: MapStage, var: Var, extent: int, length: int) -> MapStage:
    """The stage with runs of `length` along the axis of `var`, and places in a run, as axes."""
    run, inside = Var(f"{var.name}_run", i32), Var(f"{var.name}_inside", i32)
    whole = run * length + inside

    def split(e: Expr) -> Expr:
        return substitute(replaced(e, {var // length: run}), {var: whole})

    axis = stage.vars.index(var)
    return replace(
        stage,
        vars=(*stage.vars[:axis], run, inside, *stage.vars[axis + 1 :]),
        value=split(stage.value),
        also=tuple((out, split(value)) for out, value in stage.also),
        sizes=(*stage.shape[:axis], extent // length, length, *stage.shape[axis + 1 :]),
        place=tuple(split(e) for e in stage.index),
    )
