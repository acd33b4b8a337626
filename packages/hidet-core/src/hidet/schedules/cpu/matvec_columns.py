"""Small-M matmuls on the CPU whose matrix has its columns in a line.

Vectors of accumulators stand for neighbouring columns. Memory is read ahead of a thread where it
reads a few long streams: whole rows, of which those that meet at once lie far apart, each at the
head of a stretch that is read from there on. Stretches of k are what threads share, where rows are
too short for all of them.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    load,
    parallel,
    register_tensor,
    script,
    script_module,
    static,
    store,
    vectorize,
)
from hidet.lang.memory import get
from hidet.schedules.assemble import operand_type
from hidet.schedules.product import Product
from hidet.schedules.typical import estimated, size_bytes
from hidet.target import Target

STREAMS = 8
"""Rows of the matrix that are read side by side: one stream gets half of what memory gives."""
SUMS = 4096
"""Sums of a thread at most: they stay in the first cache."""
OPEN = 1024
"""The same where calls tell how many columns there are, which may be a few."""
PART = 1 << 19
"""Bytes of the matrix that a part of k has at least: what it costs to share them is less."""


class Blocks:
    """How a matrix is cut: blocks of columns, and parts of k in each."""

    def __init__(self, p: Product, target: Target) -> None:
        self.p, self.m = p, estimated(p.m)
        self.lanes = max(2, target.vector_bytes // p.wide.nbytes)
        self.width: int = OPEN
        if isinstance(p.n, int):
            blocks = cdiv(p.n * self.m, SUMS)
            self.width = cdiv(cdiv(p.n, blocks), self.lanes) * self.lanes
        self.blocks = cdiv(p.n, self.width)
        self.rows, self.parts = p.k, 1
        if isinstance(p.k, int):
            idle = cdiv(target.cores, estimated(p.batch * self.blocks))
            several = min(idle, int(size_bytes(p.b)) // PART, p.k // STREAMS)
            self.rows = cdiv(cdiv(p.k, max(1, several)), STREAMS) * STREAMS
            self.parts = cdiv(p.k, self.rows)

    @property
    def partial(self) -> Any:
        """The type of the sums of parts, which meet in a second step."""
        return self.p.wide[self.p.batch * self.blocks * self.parts, self.m, self.width]


def along_columns(p: Product, target: Target) -> ScriptFunction:
    """The sums of each part of each block, then their total."""
    t = Blocks(p, target)
    blocks, parts, bias_type = t.blocks, t.parts, operand_type(p.bias, p.c)

    with script_module():
        add_part, write = adding_part(t), writing(t)

        @script(a=p.a, b=p.b, bias=bias_type, partial=t.partial, c=p.c)
        def matvec(a: Global, b: Global, bias: Global, partial: Global, c: Global) -> None:
            attr.func_kind = "cpu_kernel"
            for number in parallel(p.batch * blocks * parts):
                block, part = number // parts, number % parts
                z, left = block // blocks, block % blocks * t.width
                accumulators = register_tensor(p.wide, (1, t.m, t.width), init=0)
                add_part(a, b, accumulators, z, left, part * t.rows)
                if parts == 1:
                    write(bias, accumulators, 0, c, z, left)
                else:
                    for i in range(t.m):
                        for lane in vectorize(t.width):
                            partial[number, i, lane] = accumulators[0, i, lane]
            if parts > 1:
                for block in parallel(p.batch * blocks):
                    write(bias, partial, block, c, block // blocks, block % blocks * t.width)

    return matvec


def adding_part(t: Blocks) -> ScriptFunction:
    """A part of a kernel: adds the products of the rows of a part, from `first` on."""
    p = t.p
    add_rows, add_row = adding_rows(t, STREAMS), adding_rows(t, 1)

    @script
    def add_part(a, b, accumulators, z, left, first):  # type: ignore[no-untyped-def]
        count = min(t.rows, p.k - first)
        apart = count // STREAMS
        for step in range(apart):
            add_rows(a, b, accumulators, z, left, first + step, apart)
        for r in range(first + apart * STREAMS, first + count):
            add_row(a, b, accumulators, z, left, r, 1)

    return add_part


def adding_rows(t: Blocks, count: int) -> ScriptFunction:
    """A part of a kernel: adds the products of `count` rows of the matrix, which lie so far `apart`
    from `first` on. Vectors are as long as they are, so that 16 bits are converted by one
    instruction; only the last columns go one by one."""
    p, lanes, rows = t.p, t.lanes, range(count)
    own = [(i, r) for i in range(t.m) for r in rows]

    @script
    def add_rows(a, b, accumulators, z, left, first, apart):  # type: ignore[no-untyped-def]
        each = [cast(get(a, *p.a_at(z, i, first + r * apart)), p.wide) for i, r in own]
        there = min(t.width, p.n - left)
        for vector in range(there // lanes):
            at = vector * lanes
            row = register_tensor(p.wide, (count, lanes))
            for r in static(rows):
                for lane in vectorize(lanes):
                    place = p.b_at(z, first + r * apart, left + at + lane)
                    row[r, lane] = cast(get(b, *place), p.wide)
            for i in static(range(t.m)):
                total = load(accumulators, 0, i, at, lanes=lanes)
                for r in static(rows):
                    total += each[i * count + r] * load(row, r, 0, lanes=lanes)
                store(accumulators, 0, i, at, total)
        if p.n % lanes != 0:
            for lane in range(there // lanes * lanes, there):
                for r in static(rows):
                    element = cast(get(b, *p.b_at(z, first + r * apart, left + lane)), p.wide)
                    for i in static(range(t.m)):
                        accumulators[0, i, lane] += each[i * count + r] * element

    return add_rows


def writing(t: Blocks) -> ScriptFunction:
    """A part of a kernel: writes the columns of a block, whose parts `done` has."""
    p, n = t.p, t.p.n

    with script_module():

        @script
        def write_columns(bias, done, block, c, z, left, there):  # type: ignore[no-untyped-def]
            for i in range(t.m):
                for lane in vectorize(there):
                    total = done[block * t.parts, i, lane]
                    for part in static(range(1, t.parts)):
                        total += done[block * t.parts + part, i, lane]
                    if p.bias is not None:
                        total += cast(get(bias, *p.bias_at(z, i, left + lane)), p.wide)
                    c.put(*p.c_at(z, i, left + lane), cast(total, p.c.dtype))

        @script
        def write(bias, done, block, c, z, left):  # type: ignore[no-untyped-def]
            if not isinstance(n, int):
                write_columns(bias, done, block, c, z, left, min(t.width, n - left))
            elif left + t.width <= n:
                write_columns(bias, done, block, c, z, left, t.width)
            else:  # a number that is known, too: what follows may be made of a few neighbours
                write_columns(bias, done, block, c, z, left, n % t.width)

    return write
