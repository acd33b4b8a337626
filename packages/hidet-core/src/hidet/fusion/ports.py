"""The hooks of a scheduled kernel that fusion may take over."""

from __future__ import annotations

from hidet.ir.expr import FromAccumulators, Get, Var
from hidet.ir.kernel import Module
from hidet.ir.stmt import Put
from hidet.ir.walk import postorder


def ports(module: Module) -> set[Var]:
    """The parameters that the kernels touch by `get` alone, or by `put` and
    `from_accumulators` alone."""
    read: set[Var] = set()
    written: set[Var] = set()
    bare: set[Var] = set()
    for node in postorder([stmt for kernel in module.kernels for stmt in kernel.body]):
        hook = node.tensor if isinstance(node, Get | Put | FromAccumulators) else None
        if isinstance(node, Get):
            read.add(node.tensor)
        elif isinstance(node, Put):
            written.add(node.tensor)
        bare |= {each for each in node.children() if isinstance(each, Var) and each is not hook}
    bare |= {each.tensor for kernel in module.kernels for each in kernel.maps}
    return {each for each in module.params if each in read ^ written and each not in bare}
