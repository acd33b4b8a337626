"""Any operator that has only a definition, as kernels."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.compute import Grid, Input
from hidet.ir.expr import Var
from hidet.ir.kernel import Call, Module
from hidet.ir.walk import find, variables
from hidet.schedules.automatic.cpu import choose as cpu
from hidet.schedules.automatic.cpu.pieces import in_pieces
from hidet.schedules.automatic.cuda import choose as cuda
from hidet.schedules.automatic.plan import MapStage, PieceStage, ScanStage, Stage, plan
from hidet.schedules.automatic.split import split_reductions
from hidet.target import Target


def automatic_schedule(
    name: str, inputs: Sequence[Input], outputs: Sequence[Grid], target: Target
) -> Module:
    """Kernels that compute `outputs` from `inputs`, one for each stage."""
    planned = plan(list(inputs), list(outputs))
    planned = split_reductions(planned, target) if target.kind == "cuda" else in_pieces(planned)
    emit = cuda.stage_kernel if target.kind == "cuda" else cpu.stage_kernel
    tensors = [*planned.inputs, *planned.outputs, *planned.workspaces]
    kernels = []
    calls = []
    for number, stage in enumerate(planned.stages):
        params = used(stage, tensors)
        label = name if len(planned.stages) == 1 else f"{name}_{number}"
        kernels.append(emit(stage, label, params, target))
        calls.append(Call(label, params))
    params = (*planned.inputs, *planned.outputs)
    return Module(name, params, tuple(kernels), tuple(calls), tuple(planned.workspaces))


def used(stage: Stage, tensors: Sequence[Var]) -> tuple[Var, ...]:
    """The tensors a stage touches, in the order of the module."""
    match stage:
        case MapStage(out=out, value=value, also=also):
            touched = {out, *find([value, *(e for _, e in also)], Var), *(var for var, _ in also)}
        case ScanStage(out=out, value=value):
            touched = {out, *find([value], Var)}
        case PieceStage(outs=outs):
            touched = {*outs, *variables(stage.total)}
        case _:
            touched = {
                v
                for each in stage.updates
                for v in (each.out, *variables([*each.index, each.value]))
            }
    return tuple(each for each in tensors if each in touched)
