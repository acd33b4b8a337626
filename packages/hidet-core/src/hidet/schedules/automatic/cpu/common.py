"""What automatic CPU kernels share: a loop that the team of threads runs."""

from __future__ import annotations

from hidet.ir.expr import Expr, Value, Var, wrap
from hidet.ir.stmt import Body, For, LoopKind, Stmt
from hidet.schedules.automatic.access import constant_size

PARALLEL_WORK = 1 << 14
"""Elements below which starting the team costs more than it saves."""


def loop(var: Var, count: Value, work_each: int, body: Body) -> Stmt:
    """A loop over the team's threads, serial if there is too little to do."""
    known = constant_size(count) if isinstance(count, int | Expr) else None
    small = known is not None and known * work_each < PARALLEL_WORK
    kind = LoopKind.SERIAL if small or known == 1 else LoopKind.PARALLEL
    return For(var, wrap(count), body, kind)
