"""How a row is distributed: over a thread, a warp, a block, or the blocks of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hidet.ir.expr import Expr, Var
from hidet.schedules.automatic.access import (
    known_product,
    mostly_contiguous,
    whole_lanes,
)
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD
from hidet.schedules.automatic.emit import AnyReduce, free
from hidet.schedules.automatic.plan import MapStage
from hidet.target import ACCESS_BYTES, WARP, Target
from hidet.types import Size


@dataclass(frozen=True)
class RowShape:
    """How a stage is distributed: `width` threads share a row, `rows` rows share a block or
    `blocks` blocks, which are a cluster, share a row."""

    row_vars: tuple[Var, ...]
    inner_vars: tuple[Var, ...]
    width: int
    rows: int
    blocks: int = 1
    at_once: int = 0
    """Rows that are worked on at once, by persistent blocks; 0: all."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.width * self.rows // self.blocks

    @property
    def first(self) -> Expr:
        """The first row of a thread."""
        if self.blocks > 1:
            return BLOCK // self.blocks
        return BLOCK * self.rows + THREAD // self.width if self.rows > 1 else BLOCK

    @property
    def lane(self) -> Expr:
        """The number of a thread among those of its row."""
        if self.blocks > 1:
            return BLOCK % self.blocks * self.threads + THREAD
        return THREAD % self.width if self.rows > 1 else THREAD


ELEMENTS = 32
"""Elements of a long row that a thread takes, if it makes several passes over the row."""
MOST_THREADS = 1024
"""Threads of a row that is one block's."""
SHARED_SM = 512
"""Threads of a block from which on several smaller ones may be better."""
THREADS = 256
"""Threads of a block that shares a row with others."""


def choose_shape(stage: MapStage, reduces: list[AnyReduce]) -> RowShape:
    """How many threads of one block share a row."""
    needed = set().union(*(free(each) for each in reduces))
    real = [v for v, n in zip(stage.vars, stage.shape, strict=True) if n != 1]
    row_vars = tuple(var for var in stage.vars if var in needed or var not in real)
    inner_vars = tuple(var for var in stage.vars if var not in row_vars)
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    rows = known_product([sizes[var] for var in row_vars])
    deep = max(known_product(each.extents) for each in reduces)
    along = any(mostly_contiguous(each.value, each.vars[-1]) for each in reduces)
    longest = max(deep, known_product([sizes[var] for var in inner_vars]))
    if not inner_vars and rows >= 4096 and (deep < 16 or not along):
        return RowShape(row_vars, inner_vars, 1, 128)
    if (longest <= 1024 and rows >= 1024) or deep <= 64:
        return RowShape(row_vars, inner_vars, WARP, 4)
    if len(reduces) + bool(inner_vars) > 1:
        width = min(MOST_THREADS, threads_of(longest))
    else:
        width = MOST_THREADS if longest >= 16384 and rows < 512 else 256
    return RowShape(row_vars, inner_vars, width, 1)


def over_cluster(shape: RowShape, elements: int, target: Target) -> RowShape | None:
    """The same for a row of `elements` that the blocks of a cluster share; None for short ones."""
    most = target.max_blocks_per_cluster
    if shape.width <= SHARED_SM or most == 1:
        return None
    width = threads_of(elements)
    blocks = min(most, width // THREADS)
    return replace(shape, width=min(width, MOST_THREADS * blocks), blocks=blocks)


def threads_of(elements: int) -> int:
    """The threads of a row with several passes, if there may be any number of them."""
    return int(max(THREADS, 1 << (elements // ELEMENTS - 1).bit_length()))


def group_lanes(extents: tuple[Size, ...], nbytes: int, neighbours: bool) -> int:
    """How many neighbouring elements a thread takes at once."""
    return whole_lanes(ACCESS_BYTES // max(nbytes, 2), extents[-1]) if neighbours else 1
