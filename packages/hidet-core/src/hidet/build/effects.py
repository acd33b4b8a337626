"""What a lowered kernel does to its parameters."""

from __future__ import annotations

from functools import lru_cache

from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Load, Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Invoke, Store
from hidet.ir.walk import postorder, variables

FEW = 16
"""Kernels that are remembered: a module asks for its own several times, and they are large."""


@lru_cache(maxsize=FEW)
def written(kernel: Kernel) -> dict[Var, bool]:
    """The parameters a kernel may write, and whether it may read them too."""
    writes: set[Var] = set()
    reads: set[Var] = set()
    for node in postorder(kernel.body):
        match node:
            case Store(tensor=Var() as tensor):
                writes.add(tensor)
            case Load(tensor=Var() as tensor):
                reads.add(tensor)
            case Invoke():
                found = INTRINSICS[node.name].effects(node)
                writes |= set(variables(found.writes))
                reads |= set(variables(found.reads))
    tensors = {each.var: each.tensor for each in kernel.maps}
    writes, reads = ({tensors.get(var, var) for var in each} for each in (writes, reads))
    return {param: param in reads for param in kernel.params if param in writes}
