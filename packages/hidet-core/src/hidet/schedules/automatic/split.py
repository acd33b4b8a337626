"""Reductions that too few blocks would compute, split over more of them.

The first kernel writes what each part of the range comes to, the second one combines the parts, in
order: the result does not depend on which block is done first.
"""

from __future__ import annotations

from math import prod

from hidet.compute import Reduce
from hidet.ir.expr import Expr, Get, Select, Var, constant
from hidet.ir.walk import replaced, substitute
from hidet.schedules.automatic.access import constant_size
from hidet.schedules.automatic.cuda.column_shape import choose_columns, on_most
from hidet.schedules.automatic.emit import free, row_level
from hidet.schedules.automatic.plan import MapStage, Plan, Stage, reductions
from hidet.target import Target
from hidet.types import TensorType, i32

BLOCKS = 4
"""Blocks for each multiprocessor that are wanted."""
LEAST = 1 << 14
"""Elements of a block below which a second kernel costs more than it saves."""
PART = 1 << 12
"""Elements of a block where there is a second kernel: more of them are done sooner."""
STEP = 2048
"""Neighbouring elements that the threads of a block read at once."""


def split_reductions(plan: Plan, target: Target) -> Plan:
    """The plan with every such reduction in two stages."""
    stages: list[Stage] = []
    workspaces = list(plan.workspaces)
    for stage in plan.stages:
        parts = split(stage, target) if isinstance(stage, MapStage) else None
        if parts is not None:
            workspaces.append(parts[0].out)
        stages += parts or (stage,)
    return Plan(plan.inputs, plan.outputs, workspaces, stages)


def split(stage: MapStage, target: Target) -> tuple[MapStage, MapStage] | None:
    """The stage that reduces parts and the one that combines them; None: one stage is better."""
    reduce = only_reduction(stage)
    if reduce is None:
        return None
    extents = [constant_size(size) or 0 for size in reduce.extents]
    columns = choose_columns(stage, [reduce], target)
    outputs = prod(constant_size(size) or 0 for size in stage.shape)
    width, cluster, wanted = 1, 1, BLOCKS * target.cores
    if columns is not None:  # a large block for each multiprocessor is as good
        width, cluster, wanted = columns.width, columns.blocks, target.cores
    blocks = -(-outputs // width)
    each = prod(extents) * width
    enough = columns is not None and on_most(blocks * cluster, target)
    parts = min(wanted // max(1, blocks), each // PART)
    if enough or parts < 2 or each // cluster < 2 * LEAST:
        return None
    axis = next((a for a, n in enumerate(extents) if n >= parts), extents.index(max(extents)))
    step = 1 if axis != len(extents) - 1 else STEP if columns is None else 4 * columns.deep
    chunk = -(-extents[axis] // parts // step) * step
    if chunk >= extents[axis]:
        return None
    return in_parts(stage, reduce, axis, chunk)


def only_reduction(stage: MapStage) -> Reduce | None:
    """The stage's one reduction, if each of its elements has one of its own and sizes are known."""
    found = list(reductions(stage.value))
    real = {var for var, size in zip(stage.vars, stage.shape, strict=True) if size != 1}
    if stage.also or len(found) != 1 or row_level(stage) != found:
        return None
    (reduce,) = found
    if not isinstance(reduce, Reduce):
        return None
    known = all(constant_size(size) for size in (*stage.shape, *reduce.extents))
    return reduce if known and real <= free(reduce) else None


def in_parts(stage: MapStage, reduce: Reduce, axis: int, chunk: int) -> tuple[MapStage, MapStage]:
    """The two stages, the reduction's `axis` in runs of `chunk`."""
    total = constant_size(reduce.extents[axis]) or 0
    count = -(-total // chunk)
    partials = Var(f"parts_of_{stage.out.name}", TensorType(reduce.dtype, (count, *stage.shape)))
    part, inside, number = Var("part", i32), Var("inside", i32), Var("part", i32)
    place = part * chunk + inside
    value: Expr = substitute(reduce.value, {reduce.vars[axis]: place})
    if total % chunk:
        value = Select(place < constant(total, i32), value, reduce.identity)
    names = (*reduce.vars[:axis], inside, *reduce.vars[axis + 1 :])
    extents = (*reduce.extents[:axis], chunk, *reduce.extents[axis + 1 :])
    first = Reduce(names, extents, value, reduce.how)
    combined = Reduce((number,), (count,), Get(partials, (number, *stage.vars)), reduce.how)
    second = replaced(stage.value, {reduce: combined})
    return MapStage(partials, (part, *stage.vars), first), MapStage(stage.out, stage.vars, second)
