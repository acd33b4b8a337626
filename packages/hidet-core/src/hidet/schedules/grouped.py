"""Products of groups of rows as contractions: which rows a tile has, only the data tell.

A tile has rows of one group alone, so a table says of each tile of rows which group it is of, where
it begins, and where its group ends. A kernel ahead of the product fills the table in. What a tile
reads beyond its group is not written; rows of no group are a group more, whose matrix is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from hidet.compute import select
from hidet.compute.sizes import same
from hidet.ir.expr import Value
from hidet.lang import (
    Global,
    Int,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    load,
    maximum,
    minimum,
    part,
    script,
)
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.schedules.contraction import Index
from hidet.schedules.product import Product
from hidet.schedules.typical import estimated
from hidet.types import Size, TensorType, i32

GROUP, TOP, END = 0, 1, 2
"""What a row of the table says of a tile; the first one has how many tiles there are."""
THREADS = 128
"""Those of a block that fill the table in, one for each group."""


@dataclass(frozen=True)
class Grouped(Product):
    """The products of all groups; which one is meant (`z`) is a pair: group, and where it ends."""

    ends: TensorType = field(kw_only=True)

    operands: ClassVar[tuple[str, ...]] = ("a", "b", "ends")
    allows_split_k = False
    """There are too many groups."""
    batch = 1
    """Each row is in one product: all groups together have as many as one product."""

    @property
    def groups(self) -> Size:
        """How many groups there are."""
        return self.b.shape[0]

    @property
    def matrices(self) -> Size:
        return self.groups

    @property
    def empty(self) -> bool:
        return super().empty or same(self.groups, 0) is True

    @property
    def has_weight(self) -> bool:
        """The matrices are a weight."""
        return True

    def a_at(self, z: Any, i: Value, r: Value) -> Index:
        return (i, r)

    def b_at(self, z: Any, r: Value, j: Value) -> Index:
        inner = (j, r) if self.b_along_k else (r, j)
        return (self.which(z), *inner)

    def c_at(self, z: Any, i: Value, j: Value) -> Index:
        """Rows behind the group's end are of no element."""
        return (select(i < z[1], i, self.m), j)

    def which(self, z: Any) -> Value:
        found: Value = z[0] if isinstance(z, tuple) else z
        return found

    def down(self, rows: int) -> Size:
        """At most: each group has one tile that is not full."""
        found: Size = minimum(self.m, self.m // rows + self.groups + 1)
        return found

    def tiles_down(self, rows: int) -> int:
        """Half of a tile in each group is beyond its end."""
        groups = min(estimated(self.groups), estimated(self.m))
        return max(groups, -(-estimated(self.m) // rows) + groups // 2)

    def table(self, rows: int) -> TensorType:
        """The type of the table."""
        return i32[self.down(rows) + 1, 3]

    def used(self, table: Any, rows: int) -> Value:
        return load(table, 0, 0)

    def place(self, table: Any, z: Value, number: Value, rows: int) -> tuple[Any, Value]:
        at = number + 1
        return (load(table, at, GROUP), load(table, at, END)), load(table, at, TOP)

    def placing(self, name: str, rows: int, kind: str) -> list[ScriptFunction]:
        """The kernel that fills the table in, for targets of a kind."""
        groups: Any = self.groups

        @script(ends=self.ends, table=self.table(rows))
        def place(ends: Global, table: Global) -> None:
            attr.func_name = f"{name}_places"
            attr.func_kind = "cuda_kernel" if kind == "cuda" else "cpu_kernel"
            if kind == "cuda":
                attr.cuda_grid_dim = cdiv(groups + 1, THREADS)
                attr.cuda_block_dim = THREADS
                if blockIdx.x * THREADS + threadIdx.x <= groups:
                    self.fill(ends, table, blockIdx.x * THREADS + threadIdx.x, rows)
            else:
                for group in range(groups + 1):
                    self.fill(ends, table, group, rows)

        return [place]

    @part
    def fill(self, ends: Global, table: Global, group: Int, rows: int) -> None:
        """The rows of the table for one group; ends that decrease, or lie outside of x, are taken
        for the nearest that do not."""
        first, begin = cast(0, i32), cast(0, i32)
        for before in range(group):
            end = maximum(begin, minimum(cast(ends.get(before), i32), self.m))
            first += cdiv(end - begin, rows)
            begin = end
        last = cast(self.m, i32)
        if group < self.groups:
            last = maximum(begin, minimum(cast(ends.get(group), i32), self.m))
        tiles = cdiv(last - begin, rows)
        for tile in range(tiles):
            table[1 + first + tile, GROUP] = group
            table[1 + first + tile, TOP] = begin + tile * rows
            table[1 + first + tile, END] = last
        if group == self.groups:
            table[0, 0] = first + tiles


@lru_cache(maxsize=1024)
def grouped_of(op: GroupedMatmul) -> Grouped:
    """The products that an operator asks for."""
    m, n, k = op.sizes()
    return Grouped(
        op.x, op.w, None, op.infer(), op.w.shape[:1], (m,), n, k,
        b_along_k=op.transpose_w, ends=op.ends,
    )  # fmt: skip
