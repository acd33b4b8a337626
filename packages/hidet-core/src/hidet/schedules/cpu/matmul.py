"""Matrix products on the CPU: both operands in panels, a tile of sums in vector registers.

One operand gives the rows of a tile (its elements are spread over lanes), the other one the
columns (its elements are loaded as vectors). Panels hold what one tile reads in the order of
reading, zero beyond the edge, in the type of the sums; they are made once, by all threads.
"""

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, assignment"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.cost import Work
from hidet.ir.kernel import Module
from hidet.lang import (
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
from hidet.schedules.contraction import Contraction, known, names_of
from hidet.schedules.product import product_of
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.types import DType

PACKED_SCALAR = 16.0
"""Multiply-adds that moving one element to another order costs; vectors move as many at once."""
FEW = 4
"""Rows up to which a matrix is read where it lies."""


@dataclass(frozen=True)
class Registers:
    """The tile of sums that a thread keeps in registers."""

    rows: int = choice(14, 12, 8, 6, 4, 2)
    vectors: int = choice(2, 1, 3, 4)
    flip: bool = choice(False, True)
    """Whether the rows of a tile are columns of the result."""

    def fits(self, op: Matmul | Linear, target: Target) -> bool:
        """Whether sums, a row of vectors and a spread element have registers."""
        return self.fits_on(target)

    def fits_on(self, target: Target) -> bool:
        """Whether sums, a row of vectors and a spread element have registers."""
        return self.rows * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work(self, op: Matmul | Linear, target: Target) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and the making of panels."""
        return self.work_on(product_of(op), target)

    def work_on(self, p: Contraction, target: Target) -> Work:
        """The work of a contraction."""
        tiles = Tiles(p, self, target)
        rows, columns, k = known(tiles.rows), known(tiles.columns), known(p.k)
        padded_rows = -(-rows // self.rows) * self.rows
        padded_columns = -(-columns // tiles.width) * tiles.width
        busy = min(1.0, self.rows * self.vectors / 10)
        busy *= min(1.0, 1.5 * self.rows * self.vectors / (self.rows + self.vectors))
        packing = k * (
            padded_rows * (1.0 if tiles.rows_as_stored else PACKED_SCALAR)
            + padded_columns * (1.0 if tiles.lanes_as_stored else PACKED_SCALAR)
        )
        flops = 2.0 * known(p.batch) * (padded_rows * padded_columns * k / busy + packing)
        blocks = known(p.batch) * (padded_rows // self.rows) * (padded_columns // tiles.width)
        # Operands are read while panels are made: that is counted there, not beside the products.
        return Work(0, 0, flops, p.wide.name, blocks, 1)


class Tiles:
    """Which elements of a product's operands the panels hold, and in which order."""

    def __init__(self, product: Contraction, registers: Registers, target: Target) -> None:
        self.product, self.flip = product, registers.flip
        self.lanes = max(2, target.vector_bytes // product.wide.nbytes)
        self.width = self.lanes * registers.vectors
        self.height = registers.rows
        self.rows = product.n if self.flip else product.m
        self.columns = product.m if self.flip else product.n
        along_k = (product.b_along_k, product.a_along_k)
        rows_along_k, lanes_along_k = along_k if self.flip else along_k[::-1]
        self.lanes_as_stored = not lanes_along_k
        self.rows_along_k = rows_along_k and isinstance(product.k, int)
        self.rows_as_stored = self.rows_along_k or not rows_along_k
        # Rows of a panel an odd number of cache lines apart do not compete for one set.
        self.stride = (cdiv(product.k, 16) // 2 * 2 + 1) * 16

    @property
    def row_panels(self) -> tuple[Any, Any]:
        """The shape of one panel of rows."""
        along = (self.height, self.stride)
        return along if self.rows_along_k else (self.product.k, self.height)

    def in_row_panel(self, i: Any, r: Any) -> tuple[Any, Any]:
        """Where row i has its element r."""
        return (i, r) if self.rows_along_k else (r, i)

    def row_element(self, a: Any, b: Any, z: Any, i: Any, r: Any) -> Any:
        """Element r of row i."""
        p = self.product
        return cast(get(b, *p.b_at(z, r, i)) if self.flip else get(a, *p.a_at(z, i, r)), p.wide)

    def lane_element(self, a: Any, b: Any, z: Any, r: Any, j: Any) -> Any:
        """Element r of column j."""
        p = self.product
        return cast(get(a, *p.a_at(z, j, r)) if self.flip else get(b, *p.b_at(z, r, j)), p.wide)


def is_float(op: Matmul | Linear) -> bool:
    """Whether the product is of floats, and there is something to multiply."""
    p = product_of(op)
    return p.wide.is_float and not p.empty


def few_rows(op: Matmul | Linear) -> bool:
    """Whether so few rows share a matrix that making panels of it costs more than it saves."""
    m = product_of(op).m
    return isinstance(m, int) and m <= FEW


@schedule_for(
    Matmul, Linear, target="cpu", space=Registers,
    when=lambda op, target: is_float(op) and not few_rows(op),
)  # fmt: skip
def matmul_panels(op: Matmul | Linear, target: Target, point: Registers) -> Scheduled:
    """Panels of both operands, then tiles of the result over the threads."""
    return Scheduled(panels(op.name, product_of(op), target, point), point)


def panels(name: str, p: Contraction, target: Target, registers: Registers) -> Module:
    """A contraction by panels."""
    t = Tiles(p, registers, target)
    k, wide, lanes, height, width = p.k, p.wide, t.lanes, t.height, t.width
    batch, row_tiles, lane_tiles = p.batch, cdiv(t.rows, height), cdiv(t.columns, width)
    out: DType = p.c.dtype
    vectors = range(registers.vectors)
    row_panels = wide[batch * row_tiles, *t.row_panels]
    lane_panels = wide[batch * lane_tiles, k, width]
    bias_type = operand_type(p.bias, p.c)

    def finished(bias: Any, value: Any, *at: Any) -> Any:
        added = value if p.bias is None else value + cast(get(bias, *p.bias_at(*at)), wide)
        return cast(added, out)

    with script_module():

        @script
        def matmul(
            a: p.a, b: p.b, bias: bias_type, rows: row_panels, columns: lane_panels, c: p.c
        ) -> None:
            attr.func_kind = "cpu_kernel"
            for panel in parallel(batch * row_tiles):
                z, top = panel // row_tiles, panel % row_tiles * height
                if t.rows_along_k:
                    for i in range(height):
                        for r in vectorize(k):
                            rows[panel, i, r] = t.row_element(a, b, z, top + i, r)
                else:
                    for r in range(k):
                        for i in vectorize(height):
                            rows[panel, r, i] = t.row_element(a, b, z, top + i, r)
            for panel in parallel(batch * lane_tiles):
                z, left = panel // lane_tiles, panel % lane_tiles * width
                if t.lanes_as_stored:
                    for r in range(k):
                        for j in vectorize(width):
                            columns[panel, r, j] = t.lane_element(a, b, z, r, left + j)
                else:
                    for j in range(width):
                        for r in range(k):
                            columns[panel, r, j] = t.lane_element(a, b, z, r, left + j)
            for tile in parallel(batch * lane_tiles * row_tiles):
                lane_panel = tile // row_tiles
                z, left = lane_panel // lane_tiles, lane_panel % lane_tiles * width
                row_panel, top = z * row_tiles + tile % row_tiles, tile % row_tiles * height
                sums = register_tensor(wide, (height, width), init=0.0)
                for r in range(k):
                    row = [load(columns, lane_panel, r, v * lanes, lanes=lanes) for v in vectors]
                    for own in static(range(height)):
                        each = rows[row_panel, *t.in_row_panel(own, r)]
                        for v in static(vectors):
                            kept = load(sums, own, v * lanes, lanes=lanes)
                            store(sums, own, v * lanes, kept + each * row[v])
                # A copy: sums stay in registers only while every index is a constant.
                done = register_tensor(wide, (height, width))
                for own in static(range(height)):
                    for v in static(vectors):
                        store(done, own, v * lanes, load(sums, own, v * lanes, lanes=lanes))
                if t.flip:
                    for j in range(width):
                        for i in vectorize(height):
                            at = (z, left + j, top + i)
                            if at[1] < p.m if p.spills else True:
                                c.put(*p.c_at(*at), finished(bias, done[i, j], *at))
                else:
                    for i in range(height):
                        for j in vectorize(width):
                            at = (z, top + i, left + j)
                            if at[1] < p.m if p.spills else True:
                                c.put(*p.c_at(*at), finished(bias, done[i, j], *at))

    return assemble(name, [matmul], names_of(p), ["c"], ["rows", "columns"])
