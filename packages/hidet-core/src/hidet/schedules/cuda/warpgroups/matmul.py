"""Matmuls of half precision, or of 8-bit integers, by warpgroups (sm_90a)."""

from __future__ import annotations

from hidet import options
from hidet.ops.products.matmul import Linear, Matmul
from hidet.schedules.base import AccumulatorEpilogue, Scheduled, schedule_for
from hidet.schedules.cuda.tiles.mma import by_tensor_cores
from hidet.schedules.cuda.tiles.mma_bytes import along_k_in_bytes
from hidet.schedules.cuda.warpgroups.groups import Warpgroups
from hidet.schedules.cuda.warpgroups.matrix import Matrix
from hidet.schedules.cuda.warpgroups.operand import Operand
from hidet.schedules.cuda.warpgroups.tile import contraction
from hidet.schedules.product import Product, product_of
from hidet.target import Target


class MatrixWarpgroups(Warpgroups):
    """Tiles of matrices."""

    def sides(self, p: Product) -> tuple[Operand, Operand]:
        """The operands' tiles."""
        return Matrix(p, True, self.block[0]), Matrix(p, False, self.block[1])


def by_wgmma(p: Product, target: Target) -> bool:
    """Whether warpgroups may multiply these: by types, target and options, and as they lie.

    TileEpilogue are float32: where float16 was asked for, `matmul_mma` has them.
    """
    half = by_tensor_cores(p, target) and not options.fp16_reduction.get()
    return half and p.c.dtype is p.a.dtype and loadable(p, target)


def by_wgmma_on_bytes(p: Product, target: Target) -> bool:
    """The same of 8-bit integers, whose accumulators are exact."""
    return along_k_in_bytes(p, target) and loadable(p, target)


def loadable(p: Product, target: Target) -> bool:
    """Whether there are warpgroups, and TMA can load the operands."""
    mappable = all(Matrix(p, left, 64).mappable for left in (True, False))
    return target.has_feature("wgmma") and bool(p.rows) and mappable


def by_warpgroups_of(p: Product, target: Target) -> bool:
    """Whether warpgroups may multiply these, of either kind."""
    return by_wgmma(p, target) or by_wgmma_on_bytes(p, target)


@schedule_for(
    Matmul, Linear, target="cuda", space=MatrixWarpgroups,
    when=lambda op, target: by_warpgroups_of(product_of(op), target), without_prologue=(0, 1),
    view=lambda op, place: Matrix(product_of(op), place == 0, 64).view, accumulator_epilogue=True,
)  # fmt: skip
def matmul_wgmma(
    op: Matmul | Linear,
    target: Target,
    point: MatrixWarpgroups,
    after: AccumulatorEpilogue | None = None,
) -> Scheduled:
    """Tiles of the product by warpgroups with `wgmma`, loadable by the copy engine."""
    return Scheduled(contraction(op.name, product_of(op), point, target, after), point)
