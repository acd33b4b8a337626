"""Products of groups of rows: the tiles of matrix products, whose rows a table places."""

from __future__ import annotations

from hidet.ops.grouped_matmul import GroupedMatmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.mma import VECTOR, Warps, by_tensor_cores
from hidet.schedules.cuda.mma_single import PartWarps, in_parts
from hidet.schedules.cuda.pipeline import Stages, in_stages
from hidet.schedules.cuda.simt import Threads
from hidet.schedules.cuda.tile import tiled
from hidet.schedules.grouped import ForGroups, grouped_of
from hidet.target import Target


class GroupedThreads(Threads, ForGroups):
    """Tiles of groups."""


class GroupedWarps(Warps, ForGroups):
    """Tiles of groups."""


class GroupedStages(Stages, ForGroups):
    """Tiles of groups."""


class GroupedPartWarps(PartWarps, ForGroups):
    """Tiles of groups."""


def is_plain(op: GroupedMatmul, target: Target) -> bool:
    """Whether there are numbers to multiply, and no tensor cores for them at full precision."""
    p = grouped_of(op)
    return not p.empty and not p.c.dtype.is_bool and not by_tensor_cores(p, target)


@schedule_for(GroupedMatmul, target="cuda", space=GroupedThreads, when=is_plain)
def grouped_simt(op: GroupedMatmul, target: Target, point: GroupedThreads) -> Scheduled:
    """Tiles of groups by threads."""
    return Scheduled(tiled(op.name, grouped_of(op), point, target), point)


@schedule_for(
    GroupedMatmul, target="cuda", space=GroupedWarps,
    when=lambda op, target: by_tensor_cores(grouped_of(op), target),
)  # fmt: skip
def grouped_mma(op: GroupedMatmul, target: Target, point: GroupedWarps) -> Scheduled:
    """Tiles of groups by warps with `mma.sync`."""
    return Scheduled(tiled(op.name, grouped_of(op), point, target), point)


@schedule_for(
    GroupedMatmul, target="cuda", space=GroupedStages, closed=(0, 1), run=VECTOR,
    when=lambda op, target: in_stages(grouped_of(op), target),
)  # fmt: skip
def grouped_stages(op: GroupedMatmul, target: Target, point: GroupedStages) -> Scheduled:
    """Tiles of groups by warps with `mma.sync`, copied several turns ahead."""
    return Scheduled(tiled(op.name, grouped_of(op), point, target), point)


@schedule_for(
    GroupedMatmul, target="cuda", space=GroupedPartWarps,
    when=lambda op, target: in_parts(grouped_of(op), target),
)  # fmt: skip
def grouped_single(op: GroupedMatmul, target: Target, point: GroupedPartWarps) -> Scheduled:
    """Tiles of groups by warps with `mma.sync` on two parts of float32."""
    return Scheduled(tiled(op.name, grouped_of(op), point, target), point)
