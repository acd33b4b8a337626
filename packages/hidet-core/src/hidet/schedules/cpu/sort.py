"""Sorting on the CPU: rows over the threads, each by merging runs of places.

The definition compares every two elements of a row. That is the fastest for rows of a dozen, and
takes seconds for rows of a hundred thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

from hidet.compute.sizes import product
from hidet.cost import Work
from hidet.lang import Global, ScriptFunction, attr, cast, cdiv, parallel, script, script_module
from hidet.ops.indexing.ordering import Sort
from hidet.schedules.assemble import assemble
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import Size, i32, i64

LONG = 12
"""Elements of a row up to which the definition is faster."""
FEW = 32
"""The first of a row are kept in order while it is gone through if their square is at most so many
times the row's length; more are the first of a sorted row."""
STEP = 16.0
"""Operations that a step of a merge takes as long as: what it does next depends on what it read."""
RUNS = 31
"""Doublings of runs: a place in a row is an i32."""


@dataclass(frozen=True)
class Rows:
    """Sorted one by one."""

    def fits(self, op: Sort, target: Target) -> bool:
        """Everywhere."""
        return True

    def work(self, op: Sort, target: Target) -> Work:
        """Each element in each merge."""
        size, rows = estimated(op.x.shape[op.axis]), estimated(rows_of(op))
        steps = size * max(1.0, log2(max(size, 2)))
        return Work(0, 0, STEP * steps * rows, "float32", rows, 1)


def rows_of(op: Sort) -> Size:
    """How many rows there are."""
    return product(others(op))


def others(op: Sort) -> list[Size]:
    """The sizes of the axes that are not sorted along."""
    return [size for axis, size in enumerate(op.x.shape) if axis != op.axis]


def is_long(op: Sort) -> bool:
    """Whether rows are long, or may be, and something of them is wanted."""
    size = op.x.shape[op.axis]
    return op.count != 0 and (not isinstance(size, int) or size > LONG)


@schedule_for(Sort, target="cpu", space=Rows, when=lambda op, target: is_long(op))
def sorted_rows(op: Sort, target: Target, point: Rows) -> Scheduled:
    """Rows over the threads."""
    size: Any = op.x.shape[op.axis]
    count: Any = op.count
    rows = rows_of(op)
    kept = isinstance(count, int) and isinstance(size, int) and count * count <= FEW * size
    held = count if kept else size
    values, places = op.infer()

    with script_module():
        keep, merge = keeping(op), merging(op)

        @script(
            x=op.x, keys=op.x.dtype[rows, size], order=i32[rows, 2, held], y=values, index=places,
        )  # fmt: skip
        def sort(x: Global, keys: Global, order: Global, y: Global, index: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for row in parallel(rows):
                for j in range(size):
                    keys[row, j] = x.get(*at(op, row, j))
                last = 0
                if cast(count, i64) * count <= cast(size, i64) * FEW:
                    last = keep(keys, order, row)
                else:
                    last = merge(keys, order, row)
                for j in range(count):
                    place = order[row, last, j]
                    y.put(*at(op, row, j), keys[row, place])
                    index.put(*at(op, row, j), cast(place, i64))

    module = assemble(op.name, [sort], op.operand_labels(), ["y", "index"], ["keys", "order"])
    return Scheduled(module, point)


def at(op: Sort, row: Any, place: Any) -> tuple[Any, ...]:
    """Where an element of a row is."""
    found: list[Any] = []
    for size in reversed(others(op)):
        found.insert(0, row % size)
        row = row // size
    found.insert(op.axis, place)
    return tuple(found)


def merging(op: Sort) -> ScriptFunction:
    """A part of a kernel: runs of sorted places become runs of twice the length, in the other half
    of `order`, until one is the row. Of equals those of the left run are first."""
    size: Any = op.x.shape[op.axis]

    @script
    def merge(keys, order, row):  # type: ignore[no-untyped-def]
        for j in range(size):
            order[row, 0, j] = j
        half = 0
        for doubling in range(RUNS):
            if (size - 1) >> doubling > 0:
                length = 1 << doubling
                for pair in range(cdiv(size, 2 * length)):
                    left = pair * 2 * length
                    middle = min(left + length, size)
                    end = min(middle + length, size)
                    i, j = left, middle
                    for to in range(left, end):
                        a, b = (
                            order[row, half, min(i, size - 1)],
                            order[row, half, min(j, size - 1)],
                        )
                        later = op.precedes(keys[row, b], keys[row, a])
                        if (i == middle) | ((j < end) & later):
                            order[row, 1 - half, to] = b
                            j += 1
                        else:
                            order[row, 1 - half, to] = a
                            i += 1
                half = 1 - half
        return half

    return merge


def keeping(op: Sort) -> ScriptFunction:
    """A part of a kernel: an element that comes before the last of those kept takes its place."""
    size: Any = op.x.shape[op.axis]
    count: Any = op.count

    @script
    def keep(keys, order, row):  # type: ignore[no-untyped-def]
        held = 0
        for j in range(size):
            own = keys[row, j]
            if (held < count) | op.precedes(own, keys[row, order[row, 0, max(held - 1, 0)]]):
                ahead = 0
                for k in range(held):
                    if not op.precedes(own, keys[row, order[row, 0, k]]):
                        ahead += 1
                held = min(held + 1, count)
                for k in range(held - 1 - ahead):
                    order[row, 0, held - 1 - k] = order[row, 0, held - 2 - k]
                order[row, 0, ahead] = j
        return 0

    return keep
