"""Which threads share a row with reductions, where it is resident, and how many rows at a time."""

from __future__ import annotations

from hidet.ir.expr import Get
from hidet.schedules.automatic.access import known_product
from hidet.schedules.automatic.cuda.persistent_clusters import choose_persistent_clusters
from hidet.schedules.automatic.cuda.row_copies import along_rows, is_of_row
from hidet.schedules.automatic.cuda.row_shape import choose_shape, over_cluster
from hidet.schedules.automatic.cuda.rows import RESERVED, Rows
from hidet.schedules.automatic.cuda.shared_memory_rows import choose_shared_memory
from hidet.schedules.automatic.emit import AnyReduce
from hidet.schedules.automatic.plan import MapStage
from hidet.target import PAIR, Target

FEWEST = 4
"""Blocks of a multiprocessor, at least, of which some read while others write."""
ROOM = 64
"""Registers of a thread, at least, in which a row's elements and more operands find place."""
OTHERS = 16
"""Registers of a thread for all but elements."""


def choose_rows(stage: MapStage, reduces: list[AnyReduce], target: Target) -> Rows:
    """The mapping and the residency of a row's reductions and elements.

    A cluster shares a row if one block with the row resident would fill its multiprocessor: nothing
    would be read while its threads synchronise. The row stays in shared memory rather than in
    registers where its clusters leave no multiprocessor without a block.
    """
    shape = choose_shape(stage, reduces)
    room = target.max_shared_bytes_per_block
    found = Rows(stage, shape, reduces, room)
    shared = over_cluster(shape, known_product(found.passes[0].extents), target)
    clusters = None if shared is None else choose_persistent_clusters(found, shared, target)
    if clusters is not None and not clusters.weights_dominate:
        return clusters
    in_shared = choose_shared_memory(found, target)
    if in_shared is not None and (clusters is None or in_shared.shape.blocks <= PAIR):
        return in_shared
    if clusters is not None:
        return clusters
    if shared is not None and exceeds_block(found, room):
        among = Rows(stage, shared, reduces, room)
        found = found if among.resident is None else among
    choose_occupancy(found, target)
    return found


def exceeds_block(found: Rows, shared_bytes: int) -> bool:
    """Whether what a row needs again does not fit a block, or leaves no room for another."""
    if found.resident is None or found.in_shared is None:
        return found.resident is None
    whole = found.in_shared.arrays.keys() == found.resident.arrays.keys()
    return not whole or 2 * (found.in_shared.nbytes + RESERVED) > shared_bytes


def choose_occupancy(found: Rows, target: Target) -> None:
    """Choose how many blocks a multiprocessor holds where it reads and writes long rows: so many
    that the bytes in flight suit memory best. The remaining registers are for operands of the last
    pass, which are read before the threads synchronise."""
    shape = found.shape
    if shape.rows != 1 or shape.blocks != 1 or not found.inner:
        return
    if found.resident is None or found.in_shared is not None:
        return
    first = found.passes[0]
    row = known_product(first.extents) * sum(e.dtype.nbytes for e in reads_of_row(found))
    blocks = target.measured.bytes_in_flight // max(1, row)
    registers = target.registers_per_sm // max(1, blocks * shape.threads)
    if blocks < FEWEST or registers < ROOM:
        return
    found.min_blocks = found.max_blocks = blocks
    found.resident.prefetch_operands(registers - OTHERS)


def reads_of_row(found: Rows) -> list[Get]:
    """The reads of the first pass of which each row has elements of its own, side by side."""
    first = found.passes[0]
    along = along_rows([first.value], first.vars[-1])
    return [read for read in along if is_of_row(read, found.shape.row_vars)]
