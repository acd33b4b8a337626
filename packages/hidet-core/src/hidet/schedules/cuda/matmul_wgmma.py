"""Products of half-precision matrices by warpgroups (sm_90a)."""

from __future__ import annotations

from hidet import options
from hidet.ops.matmul import Linear, Matmul
from hidet.schedules.base import After, Scheduled, schedule_for
from hidet.schedules.cuda.mma import by_tensor_cores
from hidet.schedules.cuda.warpgroups import Warpgroups
from hidet.schedules.cuda.wgmma_matrix import Matrix
from hidet.schedules.cuda.wgmma_operand import Operand
from hidet.schedules.cuda.wgmma_tile import by_warpgroups
from hidet.schedules.product import ForProducts, Product, product_of
from hidet.target import Target


class MatrixWarpgroups(Warpgroups):
    """Tiles of matrices."""

    def sides(self, p: Product) -> tuple[Operand, Operand]:
        """The operands' tiles."""
        return Matrix(p, True, self.block[0]), Matrix(p, False, self.block[1])


class MatmulWarpgroups(MatrixWarpgroups, ForProducts):
    """Tiles of a product."""


def by_wgmma(p: Product, target: Target) -> bool:
    """Whether warpgroups may multiply these: by types, target and options, and as they lie.

    Sums are float32: where float16 was asked for, `matmul_mma` has them.
    """
    return (
        by_tensor_cores(p, target)
        and target.has_feature("wgmma")
        and not options.fp16_reduction.get()
        and p.c.dtype is p.a.dtype
        and bool(p.rows)
        and all(Matrix(p, left, 64).mappable for left in (True, False))
    )


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulWarpgroups,
    when=lambda op, target: by_wgmma(product_of(op), target), closed=(0, 1),
    settles=True,
)  # fmt: skip
def matmul_wgmma(
    op: Matmul | Linear, target: Target, point: MatmulWarpgroups, after: After | None = None
) -> Scheduled:
    """Tiles of the product by warpgroups with `wgmma`, brought by the copy engine."""
    return Scheduled(by_warpgroups(op.name, product_of(op), point, target, after), point)
