"""What threads found of the same columns, put together: in a warp, a block, and a cluster."""

from __future__ import annotations

from collections.abc import Callable

from hidet.compute import Reduce
from hidet.ir.expr import Address, Expr, Load, Var, constant, convert
from hidet.ir.stmt import Assign, Body, Declare, Invoke, Stmt, Store
from hidet.schedules.automatic.cuda_merge import EVERY_LANE
from hidet.schedules.automatic.emit import joined, unrolled
from hidet.schedules.automatic.grid import THREAD
from hidet.schedules.automatic.plan import shape_of
from hidet.target import WARP
from hidet.types import i32, u32


def in_warp(reduce: Reduce, partial: Var, across: int) -> Body:
    """Combine what the lanes of a warp have that share columns, `across` lanes apart."""
    (count,), dtype, lane = shape_of(partial), partial.dtype, Var("v", i32)
    assert isinstance(count, int)
    wide = i32 if dtype.bits < 16 else dtype  # shuffles move 16 bits or more
    body: list[Stmt] = []
    for step in range(across.bit_length() - 1, WARP.bit_length() - 1):
        far, own = Var(f"far_{partial.name}", wide), Load(partial, (lane,))
        operands = EVERY_LANE, convert(own, wide), constant(1 << step, i32)
        both = joined(reduce.how, own, convert(far, dtype))
        each: Body = (
            Declare(far, constant(0, wide)),
            Invoke("shfl_xor_sync", operands, (far,)),
            Store(partial, (lane,), both),
        )
        body += unrolled(lane, count, each)
    return tuple(body)


def total_of(reduce: Reduce, parts: Var, use: Callable[[Var], Body]) -> Body:
    """`use` of what the parts of this thread's column come to, in their order."""
    turn, total = Var("w", i32), Var(f"total_{parts.name}", reduce.value.dtype)
    count = shape_of(parts)[0]
    assert isinstance(count, int)
    part = convert(Load(parts, (turn, THREAD)), total.dtype)
    add = Assign(total, joined(reduce.how, total, part))
    return (Declare(total, reduce.identity), *unrolled(turn, count, (add,)), *use(total))


def store(done: Var, total: Var) -> Body:
    """Keep the result of this thread's column."""
    return (Store(done, (THREAD,), total),)


def tell_blocks(told: Var, rank: Expr, part: Var, bar: Expr, listeners: int) -> Body:
    """Write this block's part of a column into the shared memory of the cluster's first blocks."""
    other, here = Var("other", i32), Address(told, (rank, THREAD))
    operands = here, convert(part, told.dtype), bar, convert(other, u32)
    return unrolled(other, listeners, (Invoke("store_to_block", operands),))
