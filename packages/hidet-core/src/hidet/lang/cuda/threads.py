"""Which thread of the grid runs: `threadIdx`, `blockIdx`, `blockDim`, `gridDim` as in CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.ir.expr import Builtin, Expr


@dataclass(frozen=True)
class Position:
    """Three numbers that the hardware gives each thread, of type i32."""

    name: str

    @property
    def x(self) -> Expr:
        """The first, fastest varying dimension."""
        return Builtin(f"{self.name}.x")

    @property
    def y(self) -> Expr:
        """The second dimension."""
        return Builtin(f"{self.name}.y")

    @property
    def z(self) -> Expr:
        """The third, slowest varying dimension."""
        return Builtin(f"{self.name}.z")


threadIdx = Position("threadIdx")
blockIdx = Position("blockIdx")
blockDim = Position("blockDim")
gridDim = Position("gridDim")
laneid = Builtin("laneid")
"""The number of the thread within its warp, i32."""
