"""Vector loops of CPU kernels, one by one, for the passes that write them otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.linear import Terms
from hidet.ir.stmt import For, LoopKind, Stmt
from hidet.ir.walk import rebuild_statements, variables
from hidet.passes.base import with_body
from hidet.passes.loops.fresh import copied


def with_vector_loops(kernel: Kernel, change: Callable[[For], Any]) -> Kernel:
    """The kernel with each of its vector loops, innermost first, as `change` has it; kernels for
    other machines than CPUs stay as they are."""
    if kernel.kind is not KernelKind.CPU:
        return kernel

    def changed(node: Stmt) -> Any:
        return change(node) if isinstance(node, For) and node.kind is LoopKind.VECTOR else node

    return with_body(kernel, rebuild_statements(kernel.body, changed))


def is_next(index: Expr, iteration: Var) -> bool:
    """Whether an index is the next one in the next iteration of a loop."""
    form = Terms().form(index)
    others = any(iteration in variables(list(each)) for each in form if each != (iteration,))
    return form.get((iteration,)) == 1 and not others


def remaining(loop: For, first: Expr, count: Expr) -> For:
    """So many iterations of a loop from a `first` one on."""
    own = Var(loop.var.name, loop.var.of)
    return replace(loop, var=own, extent=count, body=copied(loop.body, {loop.var: own + first}))
