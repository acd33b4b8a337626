"""Arrays inside of a kernel."""

from __future__ import annotations

from hidet.errors import InternalError
from hidet.ir.expr import Const, Var
from hidet.types import TensorType


def elements(var: Var, of: TensorType) -> int:
    """How many elements an array has; its shape has to be constant."""
    count = 1
    for size in of.shape:
        known = size.value if isinstance(size, Const) else size
        if not isinstance(known, int):
            raise InternalError(f"the size of the array `{var.name}` is not constant: {of}")
        count *= known
    return count
