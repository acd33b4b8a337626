"""Which elements of a contraction's operands lie in panels on the CPU, and in which order.

One operand gives the rows of a tile (its elements are spread over lanes), the other one the
columns (its elements are loaded as vectors). Floats lie in panels in the type of the sums. Of 8-bit
integers, whose sums are int32, and of bfloat16 where the machine multiplies it, neighbours along k
lie side by side in groups: one instruction multiplies and adds a group in each lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from hidet.cost import Work
from hidet.ir.expr import Const, Dot, Expr, Pack
from hidet.lang import address, cast, cdiv, load
from hidet.lang.functions import minimum
from hidet.lang.memory import get
from hidet.schedules.contraction import Contraction
from hidet.schedules.cpu.panel_elements import BYTES, SIGN, Elements, elements_of
from hidet.schedules.space import choice
from hidet.schedules.typical import fewest
from hidet.target import Target
from hidet.types import i8, u8

PACKED_SCALAR = 16.0
"""Multiply-adds that moving one element to another order costs; vectors move as many at once."""
FOUND = 128.0
"""The same where it has to be found first: divisions, and the edges of images. Rows along k are
found run by run."""
STRETCH = 256
"""Products that are summed before they join the sum of the others: long sums of rounded products
lose digits, sums of short ones fewer."""
STORED = 1024
"""Bytes of accumulators that a tile writes while the next one is multiplied. They are stored twice,
aside and to the result; Zen 4 has up to 32 vectors of 512 bits stored while it goes on."""
WAIT = 12.5
"""Operations that each further byte of floats costs; an estimate by ten tiles and eight linear
layers. Sums of integers are scaled and rounded before the result is written: smaller tiles only
read operands more often there (ResNet-50 in int8 28.0 instead of 23.7 ms)."""
SMALL = 1 << 19
"""Operations of a contraction that one thread does by itself: 5 us, and a team takes 3 to begin."""
OWN = 1 << 16
"""Bytes of a panel that a thread may have on its stack: no kernel has larger arrays of its own."""
LINE = 64
"""Bytes of a cache line."""
HALF = 32
"""Bytes of the vectors that machines with longer ones multiply two at a time."""


@dataclass(frozen=True)
class Registers:
    """The tile of accumulators that a thread keeps in registers."""

    rows: int = choice(14, 12, 8, 6, 4, 2)
    vectors: int = choice(2, 1, 3, 4)
    flip: bool = choice(False, True)
    """Whether the rows of a tile are columns of the result."""

    def fits_on(self, target: Target) -> bool:
        """Whether accumulators, a row of vectors and a spread element have registers."""
        return self.rows * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work_on(self, p: Contraction, target: Target) -> Work:
        """What a contraction costs at this point."""
        return self.work_of(Panels(p, self, target))

    def work_of(self, t: Panels) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and the making of panels."""
        p = t.p
        k, batch = p.estimated(p.k), p.estimated(p.batch)
        plain = -(-p.estimated(t.rows) // t.height)
        tiles = plain if t.table is None else p.tiles_down(t.height)
        rows = tiles * t.height
        columns = -(-p.estimated(t.columns) // t.width) * t.width
        accumulators = t.height * self.vectors
        moved = PACKED_SCALAR * t.elements.group
        # Eight multiply-adds are under way at once; two loads come with one at most.
        busy = min(1.0, accumulators / 10) * min(
            1.0, 1.5 * accumulators / (t.height + self.vectors)
        )
        found = FOUND / p.estimated(p.run) if p.scattered and t.rows_along_k else 1.0
        making = [rows * (max(1.0, found) if t.rows_as_stored else moved)]
        lanes_cost = 1.0 if t.lanes_as_stored else moved
        making += [columns * (FOUND if p.scattered else lanes_cost)]
        if t.unpacked:
            making[0] = 0.0
        if p.has_weight:
            making.pop(0 if t.weight_in_rows else 1)
        blocks = batch * (rows // t.height) * (columns // t.width)
        more = accumulators * t.lanes * t.wide.nbytes - STORED
        waits = WAIT * max(0, more) if t.wide.is_float else 0
        flops = 2.0 * batch * k * (rows * columns / busy + sum(making)) + blocks * waits
        blocks = 1 if t.is_small else blocks
        # Operands are read while panels are made: that is counted there, not beside the products.
        return Work(0, 0, flops, t.elements.rate, blocks, 1)


class Panels:
    """Which elements of a contraction's operands the panels hold, and in which order."""

    def __init__(
        self,
        p: Contraction,
        registers: Registers,
        target: Target,
        elements: Elements | None = None,
        unpacked: bool = False,
    ) -> None:
        self.p, self.flip = p, registers.flip
        self.unpacked = unpacked
        """Whether rows of the only product are read where they lie; beyond them, the last one."""
        self.elements = elements or elements_of(p, registers.flip, target)
        self.wide, self.group = self.elements.sums, self.elements.group
        self.depth = cdiv(p.k, self.group)
        self.rows, self.columns = (p.n, p.m) if self.flip else (p.m, p.n)
        self.lanes = self.filled(registers.vectors, target)
        self.vectors, self.width = range(registers.vectors), self.lanes * registers.vectors
        self.table = None if self.flip else p.table(registers.rows)
        self.height = (
            registers.rows if self.table is not None else evened(self.rows, registers.rows)
        )
        along_k = (p.b_along_k, p.a_along_k) if self.flip else (p.a_along_k, p.b_along_k)
        self.weight_in_rows = (p.weight == "b") == self.flip
        self.lanes_as_stored = not along_k[1]
        self.rows_along_k = along_k[0] and isinstance(p.k, int)
        self.rows_as_stored = self.rows_along_k or not along_k[0]
        self.row_tiles = cdiv(self.rows, self.height) if self.flip else p.down(self.height)
        self.matrices = p.batch if self.flip else p.matrices
        self.row_matrices = p.batch if self.flip else p.a_matrices
        self.lane_tiles = cdiv(self.columns, self.width)
        columns_bytes = p.estimated(self.columns) * p.estimated(p.k) * self.elements.lanes.nbytes
        rows_type = p.b.dtype if self.flip else p.a.dtype
        self.offset = self.elements is BYTES and rows_type is i8
        """Whether rows lie in panels with `SIGN` added, which their sums are too large by."""
        enough = p.estimated(p.batch) * p.estimated(self.rows) >= 4 * target.cores * self.height
        near = columns_bytes <= 2 * target.l2_bytes and self.is_own and not unpacked
        self.at_once = not self.weight_in_rows and (enough or self.is_small) and near
        """Whether a panel of rows is made just before it meets all columns, still in the cache: it
        is the thread's own, so that it need not reach memory."""

    def filled(self, vectors: int, target: Target) -> int:
        """The lanes of the vectors of a tile: half as many where these hold all columns, of which
        whole vectors would be filled in part, and the machine multiplies two at a time."""
        lanes = max(2, target.vector_bytes // self.wide.nbytes)
        halved = target.vector_bytes > HALF and self.group == 1 and isinstance(self.columns, int)
        if halved and self.columns % lanes and 2 * self.columns <= lanes * vectors:
            return lanes // 2
        return lanes

    @cached_property
    def is_small(self) -> bool:
        """Whether one thread does it all."""
        sizes = (self.p.batch, self.p.m, self.p.n, self.p.k)
        known = [size for size in sizes if isinstance(size, int)]
        return self.table is None and len(known) == len(sizes) and 2 * prod(known) <= SMALL

    @property
    def is_one_stretch(self) -> bool:
        """Whether all products of a tile are added up at once, so that it need not begin at 0."""
        if self.table is not None or len(self.heights) > 1:
            return False
        return isinstance(self.depth, int) and self.depth == self.stretch

    @cached_property
    def stretch(self) -> Any:
        """How many products are summed before they join the sum of the others: where `STRETCH` of
        them leave few, these join the rest."""
        if not isinstance(self.depth, int):
            return STRETCH
        return cdiv(self.depth, max(1, cdiv(self.depth - STRETCH // 4, STRETCH)))

    @property
    def row_panel(self) -> Any:
        """The type of one panel of rows, in a list of one."""
        # Rows of a panel an odd number of cache lines apart do not compete for one set.
        line = LINE // self.elements.rows.nbytes
        stride = (cdiv(self.p.k, line) // 2 * 2 + 1) * line
        tile = (self.depth, self.height * self.group)
        each = (self.height, stride) if self.rows_along_k else tile
        return self.elements.rows[1, *each]

    @property
    def is_own(self) -> bool:
        """Whether a thread has place for a panel of rows on its stack."""
        own = self.row_panel
        sizes = [size for size in own.shape if isinstance(size, int)]
        return len(sizes) == len(own.shape) and prod(sizes) * own.dtype.nbytes <= OWN

    @property
    def row_panels(self) -> Any:
        """The type of the panels of rows that lie in memory: none where each is a thread's own."""
        count = 1 if self.at_once or self.unpacked else self.row_matrices * self.row_tiles
        return self.elements.rows[count, *self.row_panel.shape[1:]]

    @property
    def lane_panels(self) -> Any:
        """The type of all panels of columns."""
        tile = (self.depth, self.width * self.group)
        return self.elements.lanes[self.matrices * self.lane_tiles, *tile]

    def held(self, panel: Any) -> Any:
        """Where a panel of rows lies, which several products may share; else its first row."""
        if self.unpacked:
            return panel * self.height
        if self.row_matrices is self.p.batch:
            return panel
        return panel % (self.row_matrices * self.row_tiles)

    def placed(self, table: Any, panel: Any) -> tuple[Any, Any]:
        """The product that a panel of rows is of, and its first row."""
        z, number = panel // self.row_tiles, panel % self.row_tiles
        if self.table is None:
            return z, number * self.height
        return self.p.place(table, z, number, self.height)

    @property
    def heights(self) -> tuple[int, ...]:
        """How many rows tiles have: also fewer, where a call may have no more than those."""
        known = isinstance(self.rows, int) or self.table is not None
        if known or fewest(self.rows) >= self.height:
            return (self.height,)
        return tuple(sorted({1, (self.height + 1) // 2, self.height}))

    def there(self, table: Any, panel: Any) -> Any:
        """How many rows there are from the first of a panel on."""
        return self.rows - self.placed(table, panel)[1]

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

    def row_group(self, rows: Any, panel: Any, i: Any, r: Any) -> Any:
        """Group r of row i of a panel."""
        if self.unpacked:
            return self.row_element(rows, rows, 0, minimum(panel + i, self.rows - 1), r)
        at = self.in_row_panel(i, r)
        return load(rows, panel, *at, **({} if self.group == 1 else {"lanes": self.group}))

    def column_groups(self, columns: Any, panel: Any, r: Any, v: int) -> Expr:
        """Group r of the columns in vector v of a panel."""
        of_vector = self.lanes * self.group
        return load(columns, panel, r, v * of_vector, lanes=of_vector)

    @property
    def prefetches(self) -> bool:
        """Whether tiles ask for the next panel of columns before it is met: of a weight that comes
        from memory. Where rows meet all columns one after the other, the cache has it already."""
        weight = self.p.has_weight and not self.weight_in_rows
        return weight and self.table is None and not (self.at_once or self.is_small)

    def ahead(self, panel: Any, held: Any, start: Any) -> Any:
        """The element from which on a tile asks for columns while it adds groups from `start` on.
        Tiles that meet a panel of columns ask for equal parts of the next one, so that weights come
        from memory as evenly as they are used; after the last panel nothing is there to be met."""
        number = held // self.height if self.unpacked else held % self.row_tiles
        each = self.width * self.group
        part = (number * self.depth + start) * each // self.row_tiles
        return (panel + 1) * self.depth * each + part

    def ahead_at(self, columns: Any, ahead: Any, step: Any) -> Any:
        """Where a tile asks for columns in a step."""
        return address(columns, 0, 0, ahead + step * cdiv(self.width * self.group, self.row_tiles))

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


def evened(rows: Any, height: int) -> Any:
    """The rows of a tile that are so many at most, where tiles are of almost one height."""
    return cdiv(rows, cdiv(rows, height)) if isinstance(rows, int) and rows else height
