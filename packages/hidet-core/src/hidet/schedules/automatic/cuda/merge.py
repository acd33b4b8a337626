"""Accumulators of many threads become one that all of them know, always in the same order."""

from __future__ import annotations

from hidet.ir.expr import Const, Load, Var, constant, convert
from hidet.ir.stmt import Assign, Body, Declare, If, Invoke, Stmt, Store
from hidet.schedules.automatic.cuda.grid import THREAD
from hidet.schedules.automatic.emit import Accumulator, unrolled
from hidet.target import WARP
from hidet.types import Scope, TensorType, i32, u32

EVERY_LANE = Const(0xFFFFFFFF, u32)


def across_warp(accumulator: Accumulator) -> Body:
    """Merge the accumulators of a warp's lanes."""
    body: list[Stmt] = []
    for distance in (16, 8, 4, 2, 1):
        others = []
        for var in accumulator.variables:
            wide = i32 if var.dtype.bits < 16 else var.dtype  # shuffles move 16 bits or more
            other = Var(f"{var.name}_far", wide)
            body.append(Declare(other, constant(0, wide)))
            operands = EVERY_LANE, convert(var, wide), constant(distance, i32)
            body.append(Invoke("shfl_xor_sync", operands, (other,)))
            others.append(convert(other, var.dtype))
        body += accumulator.merge(others)
    return tuple(body)


def across_block(accumulator: Accumulator, warps: int, position: int) -> Body:
    """Merge the accumulators of a block's warps through shared memory; all threads read them."""
    kept = [
        Var(f"shared{position}_{var.name}", TensorType(var.dtype, (warps,), Scope.SHARED))
        for var in accumulator.variables
    ]
    warp = THREAD // WARP
    write = tuple(
        Store(shared, (warp,), var) for shared, var in zip(kept, accumulator.variables, strict=True)
    )
    turn = Var("w", i32)
    merge = accumulator.merge([Load(shared, (turn,)) for shared in kept])
    return (
        *(Declare(shared) for shared in kept),
        If((THREAD % WARP).eq(0), write),
        Invoke("syncthreads"),
        *restarted(accumulator),
        *unrolled(turn, warps, merge),
    )


def cluster_meets() -> Body:
    """All threads of a cluster wait for each other, and see what the others wrote."""
    return Invoke("cluster_arrive", options=("release",)), Invoke("cluster_wait")


def restarted(accumulator: Accumulator) -> Body:
    """The accumulator as it was before the first value."""
    return tuple(
        Assign(declared.var, declared.init)
        for declared in accumulator.start()
        if isinstance(declared, Declare) and declared.init is not None
    )
