"""What a lowered kernel does to its parameters."""

from __future__ import annotations

from functools import lru_cache

from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel
from hidet.passes.launches.touched import touched

FEW = 16
"""Kernels that are remembered: a module asks for its own several times, and they are large."""


@lru_cache(maxsize=FEW)
def written(kernel: Kernel) -> dict[Var, bool]:
    """The parameters a kernel may write, and whether it may read them too."""
    tensors = {each.var: each.tensor for each in kernel.maps}
    reads, writes = ({tensors.get(var, var) for var in each} for each in touched(kernel.body))
    return {param: param in reads for param in kernel.params if param in writes}
