"""How the work of a row is spread: over a thread, a warp, a block, or the blocks of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.ir.expr import Var
from hidet.schedules.automatic.access import constant_size, known_product, mostly_contiguous
from hidet.schedules.automatic.emit import AnyReduce, free
from hidet.schedules.automatic.grid import ACCESS_BYTES, WARP
from hidet.schedules.automatic.plan import MapStage
from hidet.target import Target
from hidet.types import Size


@dataclass(frozen=True)
class Shape:
    """How a stage's work is spread: `width` threads share a row, `rows` rows share a block or
    `blocks` blocks, which are a cluster, share a row."""

    row_vars: tuple[Var, ...]
    inner_vars: tuple[Var, ...]
    width: int
    rows: int
    blocks: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.width * self.rows // self.blocks


ELEMENTS = 32
"""Elements of a long row that a thread takes, if it walks over the row several times."""
MOST_BLOCKS = 8
"""Blocks that every device with clusters can put into one."""
ALONE = 512
"""Threads of a row that are one block; more are several of THREADS where there are clusters."""
THREADS = 256


def choose_shape(stage: MapStage, reduces: list[AnyReduce], target: Target) -> Shape:
    """How many threads share a row."""
    needed = set().union(*(free(each) for each in reduces))
    real = [v for v, n in zip(stage.vars, stage.shape, strict=True) if n != 1]
    row_vars = tuple(var for var in stage.vars if var in needed or var not in real)
    inner_vars = tuple(var for var in stage.vars if var not in row_vars)
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    rows = known_product([sizes[var] for var in row_vars])
    deep = max(known_product(each.extents) for each in reduces)
    along = any(mostly_contiguous(each.value, each.vars[-1]) for each in reduces)
    inner = known_product([sizes[var] for var in inner_vars])
    if not inner_vars and rows >= 4096 and (deep < 16 or not along):
        return Shape(row_vars, inner_vars, 1, 128)
    if (max(deep, inner) <= 1024 and rows >= 1024) or deep <= 64:
        return Shape(row_vars, inner_vars, WARP, 4)
    longest = max(deep, inner)
    if len(reduces) + bool(inner_vars) > 1:
        width = max(256, 1 << (longest // ELEMENTS - 1).bit_length())
        if width > ALONE and target.has_feature("cluster"):
            blocks = min(MOST_BLOCKS, width // THREADS)
            return Shape(row_vars, inner_vars, min(width, 1024 * blocks), 1, blocks)
        width = min(width, 1024)
    else:
        width = 1024 if longest >= 16384 and rows < 512 else 256
    return Shape(row_vars, inner_vars, width, 1)


def group_lanes(extents: tuple[Size, ...], nbytes: int, neighbours: bool) -> int:
    """How many neighbouring elements a thread takes at once."""
    last = constant_size(extents[-1])
    lanes = ACCESS_BYTES // max(nbytes, 2) if neighbours and last is not None else 1
    while lanes > 1 and (last is None or last % lanes):
        lanes //= 2
    return max(lanes, 1)
