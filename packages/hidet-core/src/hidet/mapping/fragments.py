"""Who holds which element: the register fragments of the tensor-core instructions.

A fragment takes a thread and the number of one of its values to coordinates in a tile. The tables
follow the PTX ISA; the docstrings name its sections.
"""

from dataclasses import dataclass
from itertools import product

from hidet.errors import BadArgument
from hidet.mapping.algebra import TaskMapping, spatial
from hidet.mapping.digits import Scalar
from hidet.mapping.draw import Cells, draw
from hidet.mapping.layout import Layout, Tree, column_major

ELEMENT_BITS = (8, 16, 32)
QUAD = (4, 8)
"""A warp's lanes as (place in the group of four, group): `%laneid % 4` and `%laneid >> 2`."""


@dataclass(frozen=True)
class Fragment:
    """A tile distributed over threads: for each dimension, a layout over (thread, value)."""

    tile: tuple[int, ...]
    axes: tuple[Layout, ...]

    def __call__(self, thread: Scalar, value: Scalar) -> tuple[Scalar, ...]:
        """The coordinates in the tile of this value of this thread; integers or expressions."""
        return tuple(axis(thread, value) for axis in self.axes)

    @property
    def threads(self) -> int:
        """How many threads hold the tile."""
        return next(iter(self.axes[0])).size

    @property
    def values(self) -> int:
        """How many elements each thread holds."""
        return list(self.axes[0])[1].size

    @property
    def layout(self) -> Layout:
        """(thread, value) to the offset in a column-major tile, for the layout algebra."""
        steps = column_major(*self.tile).stride
        strides = [axis.stride for axis in self.axes]
        return Layout(self.axes[0].shape, _weighted(strides, steps))

    def transposed(self) -> "Fragment":
        """The same registers seen as the transposed tile (the last two dimensions exchanged)."""
        *tile, rows, columns = self.tile
        *axes, row, column = self.axes
        return Fragment((*tile, columns, rows), (*axes, column, row))

    def cells(self) -> Cells:
        """For each element its holder, as `thread:value`."""
        held = product(range(self.threads), range(self.values))
        return Cells(self.tile, {self(t, v): f"{t}:{v}" for t, v in held})

    def draw(self) -> str:
        """A text grid of who holds what."""
        return draw(self)


def mma_a(bits: int = 16) -> Fragment:
    """The 16×k operand A of `mma.m16n8k*`, where k is 256 / `bits`: m16n8k16 for 16-bit elements.

    Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"; for 32 bits
    "… mma.m16n8k8" (tf32), for 8 bits "… mma.m16n8k32".
    """
    packed = _packed(bits)
    shape = (QUAD, (packed, 2, 2))
    rows = Layout(shape, ((0, 1), (0, 8, 0)))
    columns = Layout(shape, ((packed, 0), (1, 0, 4 * packed)))
    return Fragment((16, 8 * packed), (rows, columns))


def mma_b(bits: int = 16) -> Fragment:
    """The k×8 operand B of `mma.m16n8k*`, where k is 256 / `bits`. Source: as for `mma_a`."""
    packed = _packed(bits)
    shape = (QUAD, (packed, 2))
    rows = Layout(shape, ((packed, 0), (1, 4 * packed)))
    return Fragment((8 * packed, 8), (rows, Layout(shape, ((0, 1), (0, 0)))))


def mma_c() -> Fragment:
    """The 16×8 accumulator C or D of every `mma.m16n8k*` here. Source: as for `mma_a`."""
    shape = (QUAD, (2, 2))
    rows = Layout(shape, ((0, 1), (0, 8)))
    return Fragment((16, 8), (rows, Layout(shape, ((2, 0), (1, 0)))))


def ldmatrix(count: int = 4, *, transposed: bool = False) -> Fragment:
    """What `ldmatrix.m8n8.x{count}.b16` leaves in registers: a tile of (matrix, row, column).

    `stmatrix` takes the same fragment. Source: PTX ISA, "Warp-level matrix load instruction:
    ldmatrix".
    """
    _require_matrices(count)
    shape = (QUAD, (2, count))
    matrices = Layout(shape, ((0, 0), (0, 1)))
    rows = Layout(shape, ((0, 1), (0, 0)))
    columns = Layout(shape, ((2, 0), (1, 0)))
    fragment = Fragment((count, 8, 8), (matrices, rows, columns))
    return fragment.transposed() if transposed else fragment


def ldmatrix_rows(count: int = 4) -> TaskMapping:
    """Which (matrix, row) each of the first `8 * count` lanes gives the address of.

    The other lanes' addresses are ignored, but must still be valid for .x1 and .x2.
    """
    _require_matrices(count)
    return spatial(count, 8)


def wgmma_a() -> Fragment:
    """The 64×16 operand A in registers of `wgmma.m64nNk16`, over the 128 threads of a warpgroup.

    Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16".
    """
    shape = ((*QUAD, 4), (2, 2, 2))
    rows = Layout(shape, ((0, 1, 16), (0, 8, 0)))
    return Fragment((64, 16), (rows, Layout(shape, ((2, 0, 0), (1, 0, 8)))))


def wgmma_c(columns: int) -> Fragment:
    """The 64×`columns` accumulator D of `wgmma`, over the 128 threads of a warpgroup.

    `columns` is a multiple of 8, up to 256. Source: as for `wgmma_a`.
    """
    if columns % 8 or not 8 <= columns <= 256:
        raise BadArgument(f"wgmma has 8, 16, ... 256 columns, not {columns}")
    shape = ((*QUAD, 4), (2, 2, columns // 8))
    rows = Layout(shape, ((0, 1, 16), (0, 8, 0)))
    return Fragment((64, columns), (rows, Layout(shape, ((2, 0, 0), (1, 0, 8)))))


def _packed(bits: int) -> int:
    """How many elements one 32-bit register holds."""
    if bits not in ELEMENT_BITS:
        raise BadArgument(f"mma fragments hold elements of 8, 16 or 32 bits, not {bits}")
    return 32 // bits


def _require_matrices(count: int) -> None:
    if count not in (1, 2, 4):
        raise BadArgument(f"ldmatrix loads 1, 2 or 4 matrices, not {count}")


def _weighted(strides: list[Tree], weights: tuple[int, ...]) -> Tree:
    """The sum of congruent trees of strides, each times its weight."""
    if isinstance(strides[0], tuple):
        return tuple(_weighted(list(parts), weights) for parts in zip(*strides, strict=True))
    return sum(stride * weight for stride, weight in zip(strides, weights, strict=True))
