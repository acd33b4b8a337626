"""Values the hardware gives each thread: the names `Builtin` may have, and where they come from."""

from __future__ import annotations

from hidet.ir.expr import Builtin
from hidet.types import DType, i32, u32

COORDINATES = tuple(
    f"{what}.{axis}" for what in ("threadIdx", "blockIdx", "blockDim", "gridDim") for axis in "xyz"
)
"""Those that CUDA C++ has variables for, of the same names."""
WARP_IN_BLOCK = "warpid"
"""The warp of a thread in its block, computed: the register %warpid may change."""
SPECIAL_REGISTERS = {
    **{name: name for name in ("laneid", "smid", "nsmid", "dynamic_smem_size")},
    **{f"lanemask_{which}": f"lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")},
    "clusterRank": "cluster_ctarank",
    **{f"clusterIdx.{axis}": f"clusterid.{axis}" for axis in "xyz"},
    **{f"clusterDim.{axis}": f"cluster_nctaid.{axis}" for axis in "xyz"},
    **{f"clusterBlockIdx.{axis}": f"cluster_ctaid.{axis}" for axis in "xyz"},
}
"""The others, with the registers that hold them. PTX ISA, "Special Registers"."""
BUILTINS: dict[str, DType] = {
    name: u32 if name.startswith("lanemask") else i32
    for name in (*COORDINATES, WARP_IN_BLOCK, *SPECIAL_REGISTERS)
}
"""Types by name."""


def builtin(name: str) -> Builtin:
    """The builtin of that name; `KeyError` if there is none."""
    if name not in BUILTINS:
        raise KeyError(f"there is no builtin {name!r}; there are {', '.join(BUILTINS)}")
    return Builtin(name, BUILTINS[name])
