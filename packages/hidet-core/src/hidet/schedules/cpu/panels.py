"""Contractions on the CPU: both operands in panels, a tile of sums in vector registers.

One operand gives the rows of a tile (its elements are spread over lanes), the other one the
columns (its elements are loaded as vectors). Panels hold what one tile reads in the order of
reading, zero beyond the edge; each is made once. Those of the operand that is usually a weight are
made by a kernel of their own: it runs before the first call if it is.

Floats lie in panels in the type of the sums. Of 8-bit integers, whose sums are int32, neighbours
along k lie side by side in groups: one instruction multiplies and adds a group in each lane.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from dataclasses import dataclass
from typing import Any

from hidet.cost import Work
from hidet.ir.expr import Const, Dot, Expr, Pack
from hidet.ir.kernel import Module
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
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.contraction import Contraction, known, names_of
from hidet.schedules.cpu.panel_elements import BYTES, SIGN, elements_of
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.types import i8, u8

PACKED_SCALAR = 16.0
"""Multiply-adds that moving one element to another order costs; vectors move as many at once."""
FOUND = 128.0
"""The same where each element has to be found: divisions, and the edges of images."""
LINE = 64
"""Bytes of a cache line."""
STRETCH = 256
"""Products that are summed before they join the sum of the others."""


@dataclass(frozen=True)
class Registers:
    """The tile of sums that a thread keeps in registers."""

    rows: int = choice(14, 12, 8, 6, 4, 2)
    vectors: int = choice(2, 1, 3, 4)
    flip: bool = choice(False, True)
    """Whether the rows of a tile are columns of the result."""

    def fits_on(self, target: Target) -> bool:
        """Whether sums, a row of vectors and a spread element have registers."""
        return self.rows * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work_on(self, p: Contraction, target: Target) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and the making of panels."""
        t = Panels(p, self, target)
        k = known(p.k)
        tiles = p.tiles_down(t.height) // known(p.batch)
        rows = (-(-known(t.rows) // t.height) if self.flip else tiles) * t.height
        columns = -(-known(t.columns) // t.width) * t.width
        sums = self.rows * self.vectors
        moved = PACKED_SCALAR * t.elements.group
        # Eight multiply-adds are under way at once; two loads come with one at most.
        busy = min(1.0, sums / 10) * min(1.0, 1.5 * sums / (self.rows + self.vectors))
        making = [rows * (1.0 if t.rows_as_stored else moved)]
        lanes_cost = 1.0 if t.lanes_as_stored else moved
        making += [columns * (FOUND if p.scattered else lanes_cost)]
        if p.has_weight:
            making.pop(0 if t.weight_in_rows else 1)
        flops = 2.0 * known(p.batch) * k * (rows * columns / busy + sum(making))
        blocks = known(p.batch) * (rows // t.height) * (columns // t.width)
        # Operands are read while panels are made: that is counted there, not beside the products.
        return Work(0, 0, flops, t.elements.rate, blocks, 1)


class Panels:
    """Which elements of a contraction's operands the panels hold, and in which order."""

    def __init__(self, p: Contraction, registers: Registers, target: Target) -> None:
        self.p, self.flip = p, registers.flip
        self.elements = elements_of(p, registers.flip, target)
        self.wide, self.group = self.elements.sums, self.elements.group
        self.depth = cdiv(p.k, self.group)
        self.lanes = max(2, target.vector_bytes // self.wide.nbytes)
        self.vectors, self.height = range(registers.vectors), registers.rows
        self.width = self.lanes * registers.vectors
        self.rows, self.columns = (p.n, p.m) if self.flip else (p.m, p.n)
        along_k = (p.b_along_k, p.a_along_k) if self.flip else (p.a_along_k, p.b_along_k)
        self.weight_in_rows = (p.weight == "b") == self.flip
        self.lanes_as_stored = not along_k[1]
        self.rows_along_k = along_k[0] and isinstance(p.k, int)
        self.rows_as_stored = self.rows_along_k or not along_k[0]
        self.row_tiles = cdiv(self.rows, self.height) if self.flip else p.down(self.height)
        self.table = None if self.flip else p.table(self.height)
        self.matrices = p.batch if self.flip else p.matrices
        self.lane_tiles = cdiv(self.columns, self.width)
        columns_bytes = known(self.columns) * known(p.k) * self.elements.lanes.nbytes
        rows_type = p.b.dtype if self.flip else p.a.dtype
        self.offset = self.elements is BYTES and rows_type is i8
        """Whether rows lie in panels with `SIGN` added, which their sums are too large by."""
        enough = known(p.batch) * known(self.rows) >= 4 * target.cores * self.height
        self.at_once = not self.weight_in_rows and enough and columns_bytes <= 2 * target.l2_bytes
        """Whether a panel of rows is made just before it meets all columns, still in the cache."""

    @property
    def row_panels(self) -> Any:
        """The type of all panels of rows."""
        # Rows of a panel an odd number of cache lines apart do not compete for one set.
        line = LINE // self.elements.rows.nbytes
        stride = (cdiv(self.p.k, line) // 2 * 2 + 1) * line
        tile = (self.depth, self.height * self.group)
        each = (self.height, stride) if self.rows_along_k else tile
        return self.elements.rows[self.p.batch * self.row_tiles, *each]

    @property
    def lane_panels(self) -> Any:
        """The type of all panels of columns."""
        tile = (self.depth, self.width * self.group)
        return self.elements.lanes[self.matrices * self.lane_tiles, *tile]

    def placed(self, table: Any, panel: Any) -> tuple[Any, Any]:
        """The product that a panel of rows is of, and its first row."""
        z, number = panel // self.row_tiles, panel % self.row_tiles
        if self.table is None:
            return z, number * self.height
        return self.p.place(table, z, number, self.height)

    def is_used(self, table: Any, panel: Any) -> Any:
        """Whether there is such a panel of rows, where only the data tell how many there are."""
        return self.table is None or panel < self.p.used(table, self.height)

    def meets(self, table: Any, panel: Any, column_panel: Any) -> Any:
        """The panel of columns that a panel of rows meets: of the matrix of its product."""
        if self.table is None:
            return column_panel
        return self.matrix(table, panel) * self.lane_tiles + column_panel % self.lane_tiles

    def has_matrix(self, table: Any, panel: Any) -> Any:
        """Whether there is a matrix for a panel of rows; without one its sums are 0."""
        return self.table is None or self.matrix(table, panel) < self.matrices

    def matrix(self, table: Any, panel: Any) -> Any:
        """The number of that matrix."""
        return self.p.which(self.placed(table, panel)[0])

    def in_row_panel(self, i: Any, r: Any) -> tuple[Any, Any]:
        """Where row i of a panel has its group r."""
        return (i, r * self.group) if self.rows_along_k else (r, i * self.group)

    def row_group(self, rows: Any, panel: Any, i: Any, r: Any) -> Expr:
        """Group r of row i of a panel."""
        at = self.in_row_panel(i, r)
        return load(rows, panel, *at, **({} if self.group == 1 else {"lanes": self.group}))

    def column_groups(self, columns: Any, panel: Any, r: Any, v: int) -> Expr:
        """Group r of the columns in vector v of a panel."""
        of_vector = self.lanes * self.group
        return load(columns, panel, r, v * of_vector, lanes=of_vector)

    def added(self, total: Expr, each: Expr, row: Expr) -> Expr:
        """Sums with the products of a group of a row and of the columns of a vector."""
        return total + each * row if self.group == 1 else Dot(total, each, row)

    def sign(self) -> Expr:
        """A group of the number that offset rows are too large by."""
        return Pack((Const(SIGN, u8),) * self.group)

    def place(self, z: Any, i: Any, j: Any) -> tuple[Any, Any, Any]:
        """The product, row and column of the result that row i and column j of tiles meet at."""
        return (z, j, i) if self.flip else (z, i, j)

    def row_element(self, a: Any, b: Any, z: Any, i: Any, r: Any) -> Any:
        """Element r of row i."""
        found = get(b, *self.p.b_at(z, r, i)) if self.flip else get(a, *self.p.a_at(z, i, r))
        there = cast(found, self.elements.rows)
        return there ^ SIGN if self.offset else there

    def lane_element(self, a: Any, b: Any, z: Any, r: Any, j: Any) -> Any:
        """Element r of column j."""
        found = get(a, *self.p.a_at(z, j, r)) if self.flip else get(b, *self.p.b_at(z, r, j))
        return cast(found, self.elements.lanes)


def panels(name: str, p: Contraction, target: Target, registers: Registers) -> Module:
    """A contraction by panels: those of the weight, those of the other operand, then tiles."""
    t = Panels(p, registers, target)
    batch, row_tiles, lane_tiles = p.batch, t.row_tiles, t.lane_tiles
    row_panels, lane_panels, bias_type = t.row_panels, t.lane_panels, operand_type(p.bias, p.c)
    table_type = operand_type(t.table, p.c)

    with script_module():
        make_rows, make_columns = making_rows(t), making_columns(t)
        meet = meeting(t)
        pack = packing(t, name)

        @script
        def product(
            a: p.a, b: p.b, bias: bias_type, table: table_type, rows: row_panels,
            columns: lane_panels, c: p.c,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = name
            if t.weight_in_rows:
                for panel in parallel(batch * lane_tiles):
                    make_columns(a, b, columns, panel)
            if t.at_once:
                for panel in parallel(batch * row_tiles):
                    make_rows(a, b, table, rows, panel)
                    for tile in range(lane_tiles):
                        lane_panel = panel // row_tiles * lane_tiles + tile
                        meet(bias, table, rows, columns, c, panel, lane_panel)
            else:
                if not t.weight_in_rows:
                    for panel in parallel(batch * row_tiles):
                        make_rows(a, b, table, rows, panel)
                for number in parallel(batch * lane_tiles * row_tiles):
                    column_panel = number // row_tiles
                    row_panel = column_panel // lane_tiles * row_tiles + number % row_tiles
                    meet(bias, table, rows, columns, c, row_panel, column_panel)

    placing = [] if t.table is None else p.placing(name, t.height, target.kind)
    kernels = [*placing, pack, product]
    return assemble(name, kernels, names_of(p), ["c"], ["table", "rows", "columns"])


def meeting(t: Panels) -> ScriptFunction:
    """A part of a kernel: the tile of the result of a panel of rows and one of columns."""
    multiply, write = multiplying(t), writing(t)

    @script
    def meet(bias, table, rows, columns, c, row_panel, column_panel):  # type: ignore[no-untyped-def]
        if t.is_used(table, row_panel):
            done = register_tensor(t.wide, (t.height, t.width), init=0)
            if t.has_matrix(table, row_panel):
                multiply(rows, columns, done, row_panel, t.meets(table, row_panel, column_panel))
            write(bias, table, done, c, row_panel, column_panel)

    return meet


def packing(t: Panels, name: str) -> ScriptFunction:
    """The kernel that makes the panels of the weight."""
    p, make_rows, make_columns = t.p, making_rows(t), making_columns(t)

    @script
    def pack(a: p.a, b: p.b, rows: t.row_panels, columns: t.lane_panels) -> None:
        attr.func_kind = "cpu_kernel"
        attr.func_name = f"{name}_pack"
        if t.weight_in_rows:
            for panel in parallel(p.batch * t.row_tiles):
                make_rows(a, b, rows, rows, panel)  # the weight's rows need no table
        else:
            for panel in parallel(t.matrices * t.lane_tiles):
                make_columns(a, b, columns, panel)

    return pack


def making_rows(t: Panels) -> ScriptFunction:
    """A part of a kernel: fills a panel of rows."""
    group = t.group

    @script
    def make_rows(a, b, table, rows, panel):  # type: ignore[no-untyped-def]
        if t.is_used(table, panel):
            z, top = t.placed(table, panel)
            if t.rows_along_k:
                for i in range(t.height):
                    for part in range(t.p.k // t.p.run):
                        for r in vectorize(t.p.run):
                            # No variable for the place: what divides it is simplified.
                            element = t.row_element(a, b, z, top + i, part * t.p.run + r)
                            rows[panel, i, part * t.p.run + r] = element
                    for r in range(t.p.k, t.depth * group):
                        rows[panel, i, r] = t.row_element(a, b, z, top + i, r)
            else:
                for r in range(t.depth):
                    for i in vectorize(t.height):
                        for each in static(range(group)):
                            element = t.row_element(a, b, z, top + i, r * group + each)
                            rows[panel, r, i * group + each] = element

    return make_rows


def making_columns(t: Panels) -> ScriptFunction:
    """A part of a kernel: fills a panel of columns."""
    group = t.group

    @script
    def make_columns(a, b, columns, panel):  # type: ignore[no-untyped-def]
        z, left = panel // t.lane_tiles, panel % t.lane_tiles * t.width
        if t.lanes_as_stored:
            for r in range(t.depth):
                for j in vectorize(t.width):
                    for each in static(range(group)):
                        element = t.lane_element(a, b, z, r * group + each, left + j)
                        columns[panel, r, j * group + each] = element
        else:
            for j in range(t.width):
                for r in range(t.depth):
                    for each in static(range(group)):
                        element = t.lane_element(a, b, z, r * group + each, left + j)
                        columns[panel, r, j * group + each] = element

    return make_columns


def multiplying(t: Panels) -> ScriptFunction:
    """A part of a kernel: the product of a panel of rows and one of columns."""
    lanes, vectors = t.lanes, t.vectors
    own = [(i, v * lanes) for i in range(t.height) for v in vectors]
    correct = correcting(t)

    @script
    def multiply(rows, columns, done, row_panel, column_panel):  # type: ignore[no-untyped-def]
        # In stretches: long sums of rounded products lose digits, sums of short ones fewer.
        for stretch in range(cdiv(t.depth, STRETCH)):
            sums = register_tensor(t.wide, (t.height, t.width), init=0)
            for step in range(min(STRETCH, t.depth - stretch * STRETCH)):
                r = stretch * STRETCH + step
                row = [t.column_groups(columns, column_panel, r, v) for v in vectors]
                for i in static(range(t.height)):
                    each = t.row_group(rows, row_panel, i, r)
                    for v in static(vectors):
                        kept = load(sums, i, v * lanes, lanes=lanes)
                        store(sums, i, v * lanes, t.added(kept, each, row[v]))
            # Apart from the tile: sums stay in registers only while every index is a constant.
            for place in static(own):
                before = load(done, *place, lanes=lanes)
                store(done, *place, before + load(sums, *place, lanes=lanes))
        if t.offset:
            correct(columns, done, column_panel)

    return multiply


def correcting(t: Panels) -> ScriptFunction:
    """A part of a kernel: takes off what a tile is too large by, its rows having been offset."""
    lanes, vectors = t.lanes, t.vectors

    @script
    def correct(columns, done, column_panel):  # type: ignore[no-untyped-def]
        excess = register_tensor(t.wide, (t.width,), init=0)
        for r in range(t.depth):
            for v in static(vectors):
                kept = load(excess, v * lanes, lanes=lanes)
                row = t.column_groups(columns, column_panel, r, v)
                store(excess, v * lanes, Dot(kept, t.sign(), row))
        for i in range(t.height):
            for j in vectorize(t.width):
                done[i, j] -= excess[j]

    return correct


def writing(t: Panels) -> ScriptFunction:
    """A part of a kernel: writes a tile, neighbours of the result one after the other."""
    p, wide = t.p, t.wide
    # Along the columns of the result, whichever of the tile they are.
    outer, inner = (t.width, t.height) if t.flip else (t.height, t.width)

    @script
    def write(bias, table, done, c, row_panel, column_panel):  # type: ignore[no-untyped-def]
        z, top = t.placed(table, row_panel)
        left = column_panel % t.lane_tiles * t.width
        for first in range(outer):
            for second in vectorize(inner):
                i, j = (second, first) if t.flip else (first, second)
                at = t.place(z, top + i, left + j)
                value = done[i, j]
                if p.bias is not None:
                    value += cast(get(bias, *p.bias_at(*at)), wide)
                if p.is_there(at[1], at[2]):
                    c.put(*p.c_at(*at), cast(value, p.c.dtype))

    return write
