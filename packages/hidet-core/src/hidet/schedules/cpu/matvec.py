"""Products with few rows on the CPU: each element of the matrix is read once, where it lies."""

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"

from __future__ import annotations

from dataclasses import dataclass

from hidet.cost import Work
from hidet.lang import (
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
from hidet.ops.matmul import Linear, Matmul
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import names_of
from hidet.schedules.cpu.matmul import few_rows, is_float
from hidet.schedules.product import Product, product_of
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target


@dataclass(frozen=True)
class Columns:
    """How many vectors of sums a thread keeps in registers, for all rows together."""

    sums: int = choice(8, 4, 16, 6)

    def fits(self, op: Matmul | Linear, target: Target) -> bool:
        """Whether sums and a vector of each operand have registers."""
        return 2 * self.sums <= target.max_registers_per_thread

    def work(self, op: Matmul | Linear, target: Target) -> Work:
        """Each operand read once; a vector of the matrix is loaded for one multiply-add a row."""
        p = product_of(op)
        columns = max(1, self.sums // estimated(p.m))
        blocks = estimated(p.batch) * -(-estimated(p.n) // columns)
        hidden = min(1.0, self.sums / 8)  # a multiply-add waits four turns for the one before it
        return Work(*p.nbytes, p.flops / hidden * 2, p.wide.name, blocks, 1)


@schedule_for(
    Matmul, Linear, target="cpu", space=Columns,
    when=lambda op, target: is_float(op) and few_rows(op),
)  # fmt: skip
def matvec(op: Matmul | Linear, target: Target, point: Columns) -> Scheduled:
    """Sums over vectors along k, or along the columns, whichever lie in a line."""
    p = product_of(op)
    lanes = max(2, target.vector_bytes // p.wide.nbytes)
    kernel = (along_k if p.b_along_k else along_columns)(p, lanes, point.sums)
    return Scheduled(assemble(op.name, [kernel], names_of(p), ["c"]), point)


def along_k(p: Product, lanes: int, vectors: int) -> ScriptFunction:
    """Vectors along k: each sum is kept in lanes and added up at the end."""
    m, n, k, wide = estimated(p.m), p.n, p.k, p.wide
    width = max(1, vectors // m)
    blocks, bias_type = cdiv(n, width), operand_type(p.bias, p.c)
    rows, columns = range(m), range(width)

    with script_module():
        add_lanes = adding_lanes(p, width, lanes)

        @script
        def matvec(a: p.a, b: p.b, bias: bias_type, c: p.c) -> None:
            attr.func_kind = "cpu_kernel"
            for block in parallel(p.batch * blocks):
                z, left = block // blocks, block % blocks * width
                sums = register_tensor(wide, (m, width, lanes), init=0)
                part = register_tensor(wide, (m + width, lanes))
                for chunk in range(cdiv(k, lanes)):
                    for i in static(rows):
                        for lane in vectorize(lanes):
                            at = p.a_at(z, i, chunk * lanes + lane)
                            part[i, lane] = cast(get(a, *at), wide)
                    for j in static(columns):
                        for lane in vectorize(lanes):
                            at = p.b_at(z, chunk * lanes + lane, left + j)
                            part[m + j, lane] = cast(get(b, *at), wide)
                    for own in static([(i, j) for i in rows for j in columns]):
                        kept = load(sums, *own, 0, lanes=lanes)
                        row = load(part, own[0], 0, lanes=lanes)
                        column = load(part, m + own[1], 0, lanes=lanes)
                        store(sums, *own, 0, kept + row * column)
                add_lanes(bias, sums, c, z, left)

    return matvec


def adding_lanes(p: Product, width: int, lanes: int) -> ScriptFunction:
    """A part of a kernel: adds up the lanes of each sum and writes it."""

    @script
    def add_lanes(bias, sums, c, z, left):  # type: ignore[no-untyped-def]
        for i in range(estimated(p.m)):
            for j in range(width):
                total = cast(0.0, p.wide)
                for lane in range(lanes):
                    total += sums[i, j, lane]
                if p.bias is not None:
                    total += cast(get(bias, *p.bias_at(z, i, left + j)), p.wide)
                c.put(*p.c_at(z, i, left + j), cast(total, p.c.dtype))

    return add_lanes


def along_columns(p: Product, lanes: int, vectors: int) -> ScriptFunction:
    """Vectors along the columns: rows of the matrix are read one after the other."""
    m, n, k, wide = estimated(p.m), p.n, p.k, p.wide
    count = max(1, vectors // m)
    width = count * lanes
    blocks, bias_type = cdiv(n, width), operand_type(p.bias, p.c)
    rows, columns = range(m), range(count)

    with script_module():

        @script
        def matvec(a: p.a, b: p.b, bias: bias_type, c: p.c) -> None:
            attr.func_kind = "cpu_kernel"
            for block in parallel(p.batch * blocks):
                z, left = block // blocks, block % blocks * width
                sums = register_tensor(wide, (m, width), init=0)
                part = register_tensor(wide, (width,))
                for r in range(k):
                    for lane in vectorize(width):
                        part[lane] = cast(get(b, *p.b_at(z, r, left + lane)), wide)
                    for own in static(rows):
                        each = cast(get(a, *p.a_at(z, own, r)), wide)
                        for j in static(columns):
                            kept = load(sums, own, j * lanes, lanes=lanes)
                            row = load(part, j * lanes, lanes=lanes)
                            store(sums, own, j * lanes, kept + each * row)
                done = register_tensor(wide, (m, width))
                for place in static([(i, j * lanes) for i in rows for j in columns]):
                    store(done, *place, load(sums, *place, lanes=lanes))
                for i in range(m):
                    for lane in vectorize(width):
                        total = done[i, lane]
                        if p.bias is not None:
                            total += cast(get(bias, *p.bias_at(z, i, left + lane)), wide)
                        c.put(*p.c_at(z, i, left + lane), cast(total, p.c.dtype))

    return matvec
