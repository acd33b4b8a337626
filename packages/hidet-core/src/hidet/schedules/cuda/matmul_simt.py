"""Matmuls on CUDA cores, in full precision."""

from __future__ import annotations

from hidet.ops.matmul import Linear, Matmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.mma import by_tensor_cores
from hidet.schedules.cuda.simt import Threads
from hidet.schedules.cuda.tile import tiled
from hidet.schedules.product import ForProducts, product_of
from hidet.target import Target


class MatmulThreads(Threads, ForProducts):
    """Tiles of a product."""


def is_plain(op: Matmul | Linear, target: Target) -> bool:
    """Whether there are numbers to multiply, and no tensor cores for them at full precision."""
    p = product_of(op)
    return not p.empty and not p.c.dtype.is_bool and not by_tensor_cores(p, target)


@schedule_for(Matmul, Linear, target="cuda", space=MatmulThreads, when=is_plain)
def matmul_simt(op: Matmul | Linear, target: Target, point: MatmulThreads) -> Scheduled:
    """Tiles of the product by threads."""
    return Scheduled(tiled(op.name, product_of(op), point, target), point)
