"""Products of half-precision matrices on tensor cores."""

from __future__ import annotations

from hidet.ops.matmul import Linear, Matmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.mma import VECTOR, Warps, by_tensor_cores
from hidet.schedules.cuda.pipeline import Stages, in_stages
from hidet.schedules.cuda.tile import tiled
from hidet.schedules.product import ForProducts, product_of
from hidet.target import Target


class MatmulWarps(Warps, ForProducts):
    """Tiles of a product."""


class MatmulStages(Stages, ForProducts):
    """Tiles of a product."""


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulWarps,
    when=lambda op, target: by_tensor_cores(product_of(op), target),
)  # fmt: skip
def matmul_mma(op: Matmul | Linear, target: Target, point: MatmulWarps) -> Scheduled:
    """Tiles of the product by warps with `mma.sync`."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulStages, closed=(0, 1), run=VECTOR,
    when=lambda op, target: in_stages(product_of(op), target),
)  # fmt: skip
def matmul_stages(op: Matmul | Linear, target: Target, point: MatmulStages) -> Scheduled:
    """Tiles of the product by warps with `mma.sync`, copied several turns ahead."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)
