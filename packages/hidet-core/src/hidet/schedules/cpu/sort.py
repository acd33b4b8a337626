"""Sorting on the CPU: rows over the threads, each by unsigned integers in its elements' order.

Places in short rows are counted in vectors, those in long ones found digit by digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.compute.sizes import product
from hidet.cost import Work
from hidet.ir.expr import Expr, Reinterpret, constant, convert, select
from hidet.ir.functions import call
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    parallel,
    register_tensor,
    script,
    script_module,
    static,
    vectorize,
)
from hidet.ops.indexing.ordering import Sort
from hidet.schedules.assemble import assemble
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import DType, Size, f32, f64, i32, i64, u32, u64

LONG = 4
"""Elements of a row up to which the definition is faster."""
COUNTED = 96
"""Elements of a row up to which places are counted."""
FEW = 1
"""The first of a longer row are kept in order while it is gone through if their square is at most
so many times its length; more are the first of a sorted row."""
STEP = 4.0
"""Operations that to move an element takes as long as: where it goes depends on what was read."""


@dataclass(frozen=True)
class Rows:
    """Sorted one by one."""

    def fits(self, op: Sort, target: Target) -> bool:
        """Everywhere."""
        return True

    def work(self, op: Sort, target: Target) -> Work:
        """Each element once for each digit."""
        size, rows = estimated(op.x.shape[op.axis]), estimated(rows_of(op))
        steps = size * digits_of(op)
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
    known = isinstance(count, int) and isinstance(size, int) and size > COUNTED
    kept = known and count * count <= FEW * size
    held = count if kept else size
    values, places = op.infer()

    with script_module():
        keep, rank, by_digits = keeping(op), ranking(op), sorting_by_digits(op)

        @script(
            x=op.x, keys=op.x.dtype[rows, size], codes=code_type(op)[rows, 2, size],
            order=i32[rows, 2, held], y=values, index=places,
        )  # fmt: skip
        def sort(
            x: Global, keys: Global, codes: Global, order: Global, y: Global, index: Global
        ) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for row in parallel(rows):
                for j in range(size):
                    key = x.get(*at(op, row, j))
                    keys[row, j] = key
                    codes[row, 0, j] = code_of(op, key)
                last = 0
                if size <= COUNTED:
                    last = rank(codes, order, row)
                elif cast(count, i64) * count <= cast(size, i64) * FEW:
                    last = keep(codes, order, row)
                else:
                    last = by_digits(codes, order, row)
                for j in range(count):
                    place = order[row, last, j]
                    y.put(*at(op, row, j), keys[row, place])
                    index.put(*at(op, row, j), cast(place, i64))

    made = ["keys", "codes", "order"]
    module = assemble(op.name, [sort], op.operand_labels(), ["y", "index"], made)
    return Scheduled(module, point)


def at(op: Sort, row: Any, place: Any) -> tuple[Any, ...]:
    """Where an element of a row is."""
    found: list[Any] = []
    for size in reversed(others(op)):
        found.insert(0, row % size)
        row = row // size
    found.insert(op.axis, place)
    return tuple(found)


def ranking(op: Sort) -> ScriptFunction:
    """A part of a kernel: the place of an element is the number of those that come before it, which
    vectors count: n * n comparisons for n elements, none of which waits for another."""
    size: Any = op.x.shape[op.axis]

    @script
    def rank(codes, order, row):  # type: ignore[no-untyped-def]
        for j in range(size):
            order[row, 1, j] = 0
        for j in range(size):
            own = codes[row, 0, j]
            for i in vectorize(size):
                other = codes[row, 0, i]
                order[row, 1, i] += cast((own < other) | ((own == other) & (j < i)), i32)
        for j in range(size):
            order[row, 0, order[row, 1, j]] = j
        return 0

    return rank


def sorting_by_digits(op: Sort) -> ScriptFunction:
    """A part of a kernel: places in order of the last digits of their codes, then of those before
    them, and so on; a digit that all have is passed over. Each pass keeps the order of equals."""
    size: Any = op.x.shape[op.axis]
    digits = digits_of(op)

    @script
    def by_digits(codes, order, row):  # type: ignore[no-untyped-def]
        starts = register_tensor(i32, (digits, 256), init=0)
        for j in range(size):
            order[row, 0, j] = j
            code = codes[row, 0, j]
            for digit in static(range(digits)):
                starts[digit, cast((code >> (8 * digit)) & 255, i32)] += 1
        half = 0
        for digit in static(range(digits)):
            first = cast((codes[row, half, 0] >> (8 * digit)) & 255, i32)
            if starts[digit, first] < size:
                ahead = 0
                for number in range(256):
                    count = starts[digit, number]
                    starts[digit, number] = ahead
                    ahead += count
                for j in range(size):
                    code = codes[row, half, j]
                    value = cast((code >> (8 * digit)) & 255, i32)
                    to = starts[digit, value]
                    starts[digit, value] = to + 1
                    codes[row, 1 - half, to] = code
                    order[row, 1 - half, to] = order[row, half, j]
                half = 1 - half
        return half

    return by_digits


def digits_of(op: Sort) -> int:
    """How many bytes of a code tell elements apart."""
    return max(op.x.dtype.nbytes, 4) if op.x.dtype.is_float else op.x.dtype.nbytes


def code_type(op: Sort) -> DType:
    """The unsigned integers that are sorted for the elements."""
    return u64 if op.x.dtype.nbytes == 8 else u32


def code_of(op: Sort, key: Expr) -> Expr:
    """An integer for an element: the smaller the earlier it comes, the same for equals."""
    dtype, of = op.x.dtype, code_type(op)
    last = constant((1 << (8 * digits_of(op))) - 1, of)
    sign = constant(1 << (8 * digits_of(op) - 1), of)
    if dtype.is_float:
        wide = convert(key, f64 if dtype is f64 else f32)
        bits = Reinterpret(select(wide.eq(0.0), constant(0.0, wide.dtype), wide), of)
        code = select(bits < sign, bits ^ sign, bits ^ last)
        code = select(call("isnan", wide), last, code)
    else:
        code = convert(key, of)
        code = code ^ sign if dtype.limits[0] < 0 else code
    return code ^ last if op.descending else code


def keeping(op: Sort) -> ScriptFunction:
    """A part of a kernel: an element that comes before the last of those kept takes its place."""
    size: Any = op.x.shape[op.axis]
    count: Any = op.count

    @script
    def keep(codes, order, row):  # type: ignore[no-untyped-def]
        held, worst = 0, codes[row, 0, 0]
        for j in range(size):
            own = codes[row, 0, j]
            if (held < count) | (own < worst):
                ahead = 0
                for k in range(held):
                    if codes[row, 0, order[row, 0, k]] <= own:
                        ahead += 1
                held = min(held + 1, count)
                for k in range(held - 1 - ahead):
                    order[row, 0, held - 1 - k] = order[row, 0, held - 2 - k]
                order[row, 0, ahead] = j
                worst = codes[row, 0, order[row, 0, held - 1]]
        return 0

    return keep
