"""Which thread of the grid runs, and where: `threadIdx`, `blockIdx`, ... as in CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.intrinsics.builtins import builtin
from hidet.ir.expr import Builtin
from hidet.lang.kinds import Int


@dataclass(frozen=True)
class Position:
    """Three numbers that the hardware gives each thread, of type i32."""

    name: str

    @property
    def x(self) -> Int:
        """The first, fastest varying dimension."""
        return Builtin(f"{self.name}.x")

    @property
    def y(self) -> Int:
        """The second dimension."""
        return Builtin(f"{self.name}.y")

    @property
    def z(self) -> Int:
        """The third, slowest varying dimension."""
        return Builtin(f"{self.name}.z")


threadIdx = Position("threadIdx")
"""Which thread of its block."""
blockIdx = Position("blockIdx")
"""Which block of the grid."""
blockDim = Position("blockDim")
"""How many threads a block has along each axis."""
gridDim = Position("gridDim")
"""How many blocks the grid has along each axis."""
laneid = builtin("laneid")
"""The number of the thread within its warp, i32."""
warpid = builtin("warpid")
"""The number of the thread's warp within its block, i32: its linear number in the block / 32."""
smid = builtin("smid")
"""The number of the multiprocessor, i32. PTX ISA: %smid."""
nsmid = builtin("nsmid")
"""How many numbers of multiprocessors there are, i32; some may be unused. PTX ISA: %nsmid."""
dynamic_smem_size = builtin("dynamic_smem_size")
"""The block's dynamic shared memory in bytes, i32. PTX ISA: %dynamic_smem_size."""
lanemask_eq = builtin("lanemask_eq")
"""The bit of the thread's own lane, u32. PTX ISA: %lanemask_eq."""
lanemask_lt = builtin("lanemask_lt")
"""The bits of the lanes below, u32. PTX ISA: %lanemask_lt."""
lanemask_le = builtin("lanemask_le")
"""The bits of the lanes below and of the own one, u32. PTX ISA: %lanemask_le."""
lanemask_gt = builtin("lanemask_gt")
"""The bits of the lanes above, u32. PTX ISA: %lanemask_gt."""
lanemask_ge = builtin("lanemask_ge")
"""The bits of the lanes above and of the own one, u32. PTX ISA: %lanemask_ge."""
