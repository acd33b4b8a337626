"""Products of float32 matrices on tensor cores at full precision."""

from __future__ import annotations

from hidet.ops.matmul import Linear, Matmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.mma_single import PartWarps, in_parts
from hidet.schedules.cuda.tile import tiled
from hidet.schedules.cuda.wgmma_single import PartWarpgroups, by_warpgroups_in_parts
from hidet.schedules.product import ForProducts, product_of
from hidet.target import Target


class MatmulPartWarps(PartWarps, ForProducts):
    """Tiles of a product."""


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulPartWarps,
    when=lambda op, target: in_parts(product_of(op), target),
)  # fmt: skip
def matmul_single(op: Matmul | Linear, target: Target, point: MatmulPartWarps) -> Scheduled:
    """Tiles of the product by warps with `mma.sync`, by 3xTF32."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)


class MatmulPartWarpgroups(PartWarpgroups, ForProducts):
    """Tiles of a product."""


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulPartWarpgroups,
    when=lambda op, target: by_warpgroups_in_parts(product_of(op), target),
)  # fmt: skip
def matmul_wgmma_single(
    op: Matmul | Linear, target: Target, point: MatmulPartWarpgroups
) -> Scheduled:
    """Tiles of the product by warpgroups with `wgmma`, by 3xTF32."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)
