"""How columns are distributed over threads, blocks and clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hidet.compute import Reduce
from hidet.ir.expr import Var
from hidet.ir.kernel import PdlTrigger
from hidet.schedules.automatic.access import (
    known_product,
    mostly_contiguous,
    reads,
    whole_lanes,
)
from hidet.schedules.automatic.emit import AnyReduce, free
from hidet.schedules.automatic.plan import MapStage
from hidet.target import ACCESS_BYTES, PAIR, Target
from hidet.types import Size

THREADS = 256
ACROSS = 16
"""Threads side by side: 256 bytes of a row at once."""
LARGE = 512
"""Threads of a block that has a multiprocessor to itself or shares it with one other."""
NARROW = 8
"""Threads side by side where columns are few: 128 bytes, a line of the caches."""
SHALLOW = 16
"""Elements below which one thread takes a whole column."""
RESIDENT_THREADS = 1024
"""Threads of a multiprocessor at a time."""
FEW = 4
"""Rows of a thread below which more threads would wait for each other longer than they read."""


@dataclass(frozen=True)
class ColumnShape:
    """How a stage is distributed: a block is `across` times `deep` threads; `blocks` of them, a
    cluster, share columns."""

    outer_vars: tuple[Var, ...]
    column_vars: tuple[Var, ...]
    inner_vars: tuple[Var, ...]
    lanes: int
    across: int
    deep: int
    blocks: int = 1
    pdl_trigger: PdlTrigger = PdlTrigger.READ

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.across * self.deep

    @property
    def min_blocks(self) -> int:
        """Blocks that a multiprocessor is to hold at a time."""
        return RESIDENT_THREADS // max(self.threads, THREADS)

    @property
    def participants(self) -> int:
        """Threads that share a column."""
        return self.deep * self.blocks

    @property
    def width(self) -> int:
        """ColumnShape of a block."""
        return self.across * self.lanes


def choose_columns(stage: MapStage, reduces: list[AnyReduce], target: Target) -> ColumnShape | None:
    """The shape, if neighbouring outputs read neighbouring elements and a column's are apart."""
    real = [var for var, size in zip(stage.vars, stage.shape, strict=True) if size != 1]
    if not real or 0 in stage.shape or not all(reads_down(each, real[-1]) for each in reduces):
        return None
    needed = set().union(*(free(each) for each in reduces))
    inner = tuple(var for var in real if var not in needed)
    start = max((real.index(var) + 1 for var in inner), default=len(real) - 1)
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    deepest = max(known_product(each.extents) for each in reduces)
    shallow = deepest < SHALLOW and not inner
    start = 0 if shallow else start
    columns, outer = real[start:], [var for var in real[:start] if var not in inner]
    lanes = column_lanes(reduces, sizes[columns[-1]])
    chunks = known_product([sizes[var] for var in columns]) // lanes
    across = min(power(chunks), THREADS if shallow else ACROSS)
    deep = 1 if shallow else THREADS // across
    by_block = ColumnShape(tuple(outer), tuple(columns), inner, lanes, across, deep)
    around = known_product([sizes[var] for var in outer])
    return by_block if shallow else over_more_blocks(by_block, chunks, around, deepest, target)


def over_more_blocks(
    by_block: ColumnShape, chunks: int, around: int, deepest: int, target: Target
) -> ColumnShape:
    """The same over more multiprocessors, if there are few columns: narrower blocks, of as many
    threads as find rows to read, and then as many in a cluster.

    Clusters are no larger than they must be: a few multiprocessors have no place for large ones
    (eight of an H200 for those of four blocks), and some of the others get one block too many.
    Where a multiprocessor has a place for a block of the next kernel beside its own, that may begin
    from the start on: each finds as many places then.
    """
    if -(-chunks // by_block.across) * around >= 2 * target.cores:
        return replace(by_block, pdl_trigger=PdlTrigger.END)
    across = min(by_block.across, NARROW)
    tiles = -(-chunks // across) * around
    large = tiles <= 2 * target.cores and deepest * across >= FEW * LARGE
    threads = LARGE if large else THREADS
    rows = deepest * across // threads
    if rows < FEW:
        return by_block
    blocks, most = 1, min(target.max_blocks_per_cluster, rows // FEW)
    while 2 * blocks <= most and not on_most(tiles * blocks, target):
        blocks *= 2
    if 2 < blocks <= target.max_blocks_per_cluster // 2:  # smaller ones lie more evenly
        blocks, threads = 2 * blocks, threads // 2
    beside = 2 * tiles * blocks <= target.cores * (RESIDENT_THREADS // threads) and blocks <= PAIR
    pdl_trigger = PdlTrigger.START if beside else PdlTrigger.END
    return replace(
        by_block, across=across, deep=threads // across, blocks=blocks, pdl_trigger=pdl_trigger
    )


def on_most(blocks: int, target: Target) -> bool:
    """Whether most multiprocessors have one of so many blocks."""
    return 3 * blocks >= 2 * target.cores


def reads_down(reduce: AnyReduce, last: Var) -> bool:
    """Whether the next element is one step along `last`, and not one step of the reduction."""
    if not isinstance(reduce, Reduce) or last not in free(reduce):
        return False
    along = mostly_contiguous(reduce.value, reduce.vars[-1])
    return mostly_contiguous(reduce.value, last) and not along


def column_lanes(reduces: list[AnyReduce], last: Size) -> int:
    """How many neighbouring columns one thread takes: 16 bytes, if the innermost axis allows."""
    found = [read.tensor.dtype.nbytes for each in reduces for read in reads(each.value)]
    return whole_lanes(ACCESS_BYTES // max(2, *found, 2), last)


def power(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << max(0, count - 1).bit_length()
