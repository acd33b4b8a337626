"""Values the hardware gives each thread: the names `Builtin` may have, and their types."""

from __future__ import annotations

from hidet.ir.expr import Builtin
from hidet.types import DType, i32, u32

BUILTINS: dict[str, DType] = {
    **{
        f"{what}.{axis}": i32
        for what in ("threadIdx", "blockIdx", "blockDim", "gridDim")
        for axis in "xyz"
    },
    **{
        f"{what}.{axis}": i32
        for what in ("clusterIdx", "clusterDim", "clusterBlockIdx")
        for axis in "xyz"
    },
    **dict.fromkeys(("clusterRank", "laneid", "warpid", "smid", "nsmid", "dynamic_smem_size"), i32),
    **{f"lanemask_{which}": u32 for which in ("eq", "lt", "le", "gt", "ge")},
}
"""Types by name. PTX ISA, "Special Registers"; `warpid` is that of the thread in its block."""


def builtin(name: str) -> Builtin:
    """The builtin of that name; `KeyError` if there is none."""
    if name not in BUILTINS:
        raise KeyError(f"there is no builtin {name!r}; there are {', '.join(BUILTINS)}")
    return Builtin(name, BUILTINS[name])
