"""Grouped matmuls: the tiles of matmuls, whose rows a table places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def tiled_rows(
    name: str, space: type[Any], when: Callable[[Any, Target], bool], meaning: str, **reads: Any
) -> None:
    """File a schedule whose tiles are those of products at points of `space`."""

    def build(op: GroupedMatmul, target: Target, point: Any) -> Scheduled:
        return Scheduled(tiled(op.name, grouped_of(op), point, target), point)

    build.__name__, build.__doc__ = name, meaning
    schedule_for(GroupedMatmul, target="cuda", space=space, when=when, **reads)(build)


tiled_rows("grouped_simt", GroupedThreads, is_plain, "Tiles of groups by threads.")
tiled_rows(
    "grouped_mma", GroupedWarps, lambda op, target: by_tensor_cores(grouped_of(op), target),
    "Tiles of groups by warps with `mma.sync`.",
)  # fmt: skip
tiled_rows(
    "grouped_stages", GroupedStages, lambda op, target: in_stages(grouped_of(op), target),
    "Tiles of groups by warps with `mma.sync`, copied several k-iterations ahead.",
    closed=(0, 1), run=VECTOR,
)  # fmt: skip
tiled_rows(
    "grouped_single", GroupedPartWarps, lambda op, target: in_parts(grouped_of(op), target),
    "Tiles of groups by warps with `mma.sync`, by 3xTF32.",
)  # fmt: skip
