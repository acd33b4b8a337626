"""Products of float32 matrices on tensor cores, where tf32 is allowed."""

from __future__ import annotations

from hidet.ops.matmul import Linear, Matmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.mma_tf32 import SingleWarps, in_tf32
from hidet.schedules.cuda.tile import tiled
from hidet.schedules.product import ForProducts, product_of
from hidet.target import Target


class MatmulSingleWarps(SingleWarps, ForProducts):
    """Tiles of a product."""


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulSingleWarps,
    when=lambda op, target: in_tf32(product_of(op), target),
)  # fmt: skip
def matmul_tf32(op: Matmul | Linear, target: Target, point: MatmulSingleWarps) -> Scheduled:
    """Tiles of the product by warps with `mma.sync` on tf32."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)
