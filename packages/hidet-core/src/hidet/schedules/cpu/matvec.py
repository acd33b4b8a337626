"""Small-M matmuls on the CPU: each element of the matrix is read once, where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.cost import Work
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
from hidet.ops.products.matmul import Linear, Matmul
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import names_of
from hidet.schedules.cpu.matmul import is_float, is_small_m
from hidet.schedules.cpu.matvec_columns import along_columns
from hidet.schedules.product import Product, product_of
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

BESIDE = 8
"""Columns of the matrix that are read side by side: more may compete for one set of the cache."""
SPAN = 64
"""Columns of the matrix that a thread takes, where they lie along k: those that are read side by
side are apart, and each is followed by the next one in memory."""


@dataclass(frozen=True)
class Columns:
    """How many vectors of accumulators a thread keeps in registers, for all rows together."""

    sums: int = choice(8, 4, 16, 6)

    def of_rows(self, rows: int) -> int:
        """How many columns meet so many rows at once."""
        return min(BESIDE, max(1, self.sums // rows))

    def fits(self, op: Matmul | Linear, target: Target) -> bool:
        """Whether sums and a vector of each operand have registers."""
        return 2 * self.sums <= target.max_registers_per_thread

    def work(self, op: Matmul | Linear, target: Target) -> Work:
        """Each operand read once; a vector of the matrix is loaded for one multiply-add a row."""
        p = product_of(op)
        rows, columns = estimated(p.m), self.of_rows(estimated(p.m))
        blocks = estimated(p.batch) * -(-estimated(p.n) // columns)
        hidden = min(
            1.0, self.sums / 8
        )  # a multiply-add waits four iterations for the one before it
        loads = (rows + columns) / (rows * columns)
        return Work(*p.nbytes, p.flops / hidden * (1 + loads), p.wide.name, blocks, 1)


@schedule_for(
    Matmul, Linear, target="cpu", space=Columns,
    when=lambda op, target: is_float(op) and is_small_m(op),
)  # fmt: skip
def matvec(op: Matmul | Linear, target: Target, point: Columns) -> Scheduled:
    """Sums over vectors along k, or along the columns, whichever lie in a line."""
    p = product_of(op)
    lanes = max(2, target.vector_bytes // p.wide.nbytes)
    width = point.of_rows(estimated(p.m))
    kernel = along_k(p, lanes, width) if p.b_along_k else along_columns(p, target)
    partial = [] if p.b_along_k else ["partial"]
    return Scheduled(assemble(op.name, [kernel], names_of(p), ["c"], partial), point)


def along_k(p: Product, lanes: int, width: int) -> ScriptFunction:
    """Vectors along k: columns of the matrix are read side by side, and the lanes of each sum are
    added up at the end."""
    m, n, wide = estimated(p.m), p.n, p.wide
    k: Any = p.k
    steps = SPAN // width
    if isinstance(n, int):
        steps = cdiv(n, cdiv(n, SPAN) * width)
    span, bias_type = steps * width, operand_type(p.bias, p.c)
    blocks = cdiv(n, span)

    with script_module():
        add, add_last = (adding(p, width, steps, lanes) for _ in range(2))
        add_up, write = adding_up(p, width, steps, lanes), writing(p, span)

        @script(a=p.a, b=p.b, bias=bias_type, c=p.c)
        def matvec(a: Global, b: Global, bias: Global, c: Global) -> None:
            attr.func_kind = "cpu_kernel"
            for block in parallel(p.batch * blocks):
                z, left = block // blocks, block % blocks * span
                totals = register_tensor(wide, (m, span))
                for step in range(steps):
                    accumulators = register_tensor(wide, (m, width, lanes), init=0)
                    for chunk in range(k // lanes):
                        add(a, b, accumulators, z, left + step, chunk * lanes)
                    if k % lanes != 0:
                        add_last(a, b, accumulators, z, left + step, k // lanes * lanes)
                    add_up(accumulators, totals, step)
                write(bias, totals, c, z, left)

    return matvec


def adding(p: Product, width: int, steps: int, lanes: int) -> ScriptFunction:
    """A part of a kernel: adds the products of a vector of each row and of each column, which are
    `steps` apart."""
    rows, columns, wide = range(estimated(p.m)), range(width), p.wide

    @script
    def add(a, b, accumulators, z, left, first):  # type: ignore[no-untyped-def]
        part = register_tensor(wide, (estimated(p.m) + width, lanes))
        for i in static(rows):
            for lane in vectorize(lanes):
                part[i, lane] = cast(get(a, *p.a_at(z, i, first + lane)), wide)
        for j in static(columns):
            column = min(left + j * steps, p.n - 1)
            for lane in vectorize(lanes):
                at = p.b_at(z, first + lane, column)
                part[estimated(p.m) + j, lane] = cast(get(b, *at), wide)
        for own in static([(i, j) for i in rows for j in columns]):
            kept = load(accumulators, *own, 0, lanes=lanes)
            row = load(part, own[0], 0, lanes=lanes)
            column = load(part, estimated(p.m) + own[1], 0, lanes=lanes)
            store(accumulators, *own, 0, kept + row * column)

    return add


def adding_up(p: Product, width: int, steps: int, lanes: int) -> ScriptFunction:
    """A part of a kernel: adds up the lanes of sums, side by side."""

    @script
    def add_up(accumulators, totals, step):  # type: ignore[no-untyped-def]
        done = register_tensor(p.wide, (estimated(p.m), width, lanes))
        # Sums stay in registers only while every index is a constant.
        for own in static([(i, j) for i in range(estimated(p.m)) for j in range(width)]):
            store(done, *own, 0, load(accumulators, *own, 0, lanes=lanes))
        for i in range(estimated(p.m)):
            found = register_tensor(p.wide, (width,), init=0)
            for lane in range(lanes):
                for j in static(range(width)):
                    found[j] += done[i, j, lane]
            for j in static(range(width)):
                totals[i, j * steps + step] = found[j]

    return add_up


def writing(p: Product, span: int) -> ScriptFunction:
    """A part of a kernel: writes neighbouring columns of the result."""

    @script
    def write(bias, totals, c, z, left):  # type: ignore[no-untyped-def]
        for i in range(estimated(p.m)):
            for j in range(min(span, p.n - left)):
                total = totals[i, j]
                if p.bias is not None:
                    total += cast(get(bias, *p.bias_at(z, i, left + j)), p.wide)
                c.put(*p.c_at(z, i, left + j), cast(total, p.c.dtype))

    return write
