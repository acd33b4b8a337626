"""Values the hardware gives each thread: the names `Builtin` may have, and their C text."""

from __future__ import annotations

from hidet.ir.expr import Builtin
from hidet.types import i32

_LINEAR = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"

BUILTINS: dict[str, str] = {
    f"{what}.{axis}": f"static_cast<int>({what}.{axis})"
    for what in ("threadIdx", "blockIdx", "blockDim", "gridDim")
    for axis in "xyz"
} | {"laneid": f"static_cast<int>(({_LINEAR}) % 32)"}
"""C text by name; all are i32."""


def builtin(name: str) -> Builtin:
    """The builtin of that name; `KeyError` if there is none."""
    if name not in BUILTINS:
        raise KeyError(f"there is no builtin {name!r}; there are {', '.join(BUILTINS)}")
    return Builtin(name, i32)
