"""Schedules by tiles in shared memory (`tile.py`): all that multiply, for all operators they take.

Each is called after the operators and what multiplies: `matmul_mma`, `conv_simt`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hidet.graph import Op
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import Contraction
from hidet.schedules.convolution import has_channels
from hidet.schedules.cuda.tiles import mma, mma_bytes
from hidet.schedules.cuda.tiles.mma import Warps, by_tensor_cores
from hidet.schedules.cuda.tiles.mma_bytes import ByteStages, ByteWarps, bytes_in_stages, in_bytes
from hidet.schedules.cuda.tiles.mma_single import PartWarps, in_parts
from hidet.schedules.cuda.tiles.mma_tf32 import SingleWarps, in_tf32
from hidet.schedules.cuda.tiles.pipeline import Stages, in_stages
from hidet.schedules.cuda.tiles.simt import Threads, by_threads
from hidet.schedules.cuda.tiles.tile import tiled
from hidet.schedules.cuda.tiles.wgmma_single import PartWarpgroups, by_warpgroups_in_parts
from hidet.schedules.forms import contraction_of
from hidet.target import Target


@dataclass(frozen=True)
class Units:
    """What multiplies tiles, and how these come to it."""

    name: str
    space: type[Any]
    takes: Callable[[Contraction, Target], bool]
    meaning: str
    copied: int = 0
    """Elements of the widest asynchronous copy; 0: tiles come through registers, and hooks."""
    channels_last: bool = False
    """Whether convolutions are worth a conversion to channels last: neighbours along k feed tensor
    cores. CUDA cores read neighbouring pixels as well, and depthwise convolutions only follow
    others."""


MMA = Units("mma", Warps, by_tensor_cores, "warps with `mma.sync`", channels_last=True)
STAGES = Units(
    "stages", Stages, in_stages, "the same, copied several k-iterations ahead", mma.VECTOR
)
TF32 = Units("tf32", SingleWarps, in_tf32, "warps with `mma.sync`, float32 rounded to tf32")
SINGLE = Units(
    "single", PartWarps, in_parts, "warps with `mma.sync`, by 3xTF32", channels_last=True
)
WGMMA_SINGLE = Units(
    "wgmma_single", PartWarpgroups, by_warpgroups_in_parts, "warpgroups with `wgmma`, by 3xTF32"
)
SIMT = Units("simt", Threads, by_threads, "threads on CUDA cores")
BYTES = Units(
    "bytes", ByteWarps, in_bytes, "warps with `mma.sync` on 8-bit integers", channels_last=True
)
BYTE_STAGES = Units(
    "byte_stages", ByteStages, bytes_in_stages,
    "warps with `mma.sync` on 8-bit integers, copied several k-iterations ahead", mma_bytes.VECTOR,
)  # fmt: skip


def file(
    units: Units, kind: str, *ops: type[Op], when: Callable[[Any], bool] = lambda op: True
) -> None:
    """File the schedule of these operators, called after their `kind`, by units that multiply."""

    def takes(op: Any, target: Target) -> bool:
        return when(op) and units.takes(contraction_of(op), target)

    def build(op: Any, target: Target, point: Any) -> Scheduled:
        return Scheduled(tiled(op.name, contraction_of(op), point, target), point)

    def channels_last(op: Any, target: Target) -> bool:
        return units.channels_last and takes(op, target)

    build.__name__, build.__doc__ = f"{kind}_{units.name}", f"Tiles by {units.meaning}."
    schedule_for(
        *ops, target="cuda", space=units.space, when=takes, run=units.copied,
        without_prologue=(0, 1) if units.copied else (), channels_last=channels_last,
    )(build)  # fmt: skip


for each in (MMA, STAGES, TF32, SINGLE, WGMMA_SINGLE, SIMT, BYTES, BYTE_STAGES):
    file(each, "matmul", Matmul, Linear)
    file(each, "conv", Conv, when=has_channels)
for each in (SIMT, MMA, STAGES, SINGLE):
    file(each, "grouped", GroupedMatmul)
