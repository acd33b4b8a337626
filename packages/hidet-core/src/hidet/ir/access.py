"""What a kernel does with its parameters."""

from __future__ import annotations

from hidet.ir.expr import Load, Var
from hidet.ir.kernel import Kernel
from hidet.ir.walk import postorder
from hidet.types import PointerType, TensorType


def read_only(kernel: Kernel) -> set[Var]:
    """The array parameters of which nothing but loads is made."""
    arrays = {p for p in kernel.params if isinstance(p.of, PointerType | TensorType)}
    arrays -= {each.tensor for each in kernel.maps}  # the copy engine may write them
    for n in postorder(kernel.body):
        for place, child in enumerate(n.children()):
            if child in arrays and not (isinstance(n, Load) and place == 0):
                arrays.discard(child)
    return arrays
