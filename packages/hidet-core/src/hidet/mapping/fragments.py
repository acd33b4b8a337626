"""Who holds which element: the register fragments of the tensor-core instructions.

A fragment is a task mapping. Its workers are the lanes of a warp, or the threads of a warpgroup;
its tasks are the elements of the tile; a task's number among those of its worker is the number of
the element's register. The docstrings name sections of the PTX ISA.
"""

from hidet.errors import BadArgument
from hidet.mapping.algebra import TaskMapping, col_spatial, repeat, spatial

ELEMENT_BITS = (8, 16, 32, 64)
WARPS = 4
"""Warps of a warpgroup, each with 16 of its 64 rows."""
ROW_LANES = spatial(8, 4)
"""Of which of eight rows a lane of a warp has sums, and which of the four it is that share it."""


def mma_a(bits: int = 16, depth: int | None = None, rows: int = 16) -> TaskMapping:
    """The `rows` × depth operand A of `mma.sync`: m16n8k16 for 16-bit elements.

    `depth` is 256 / `bits` unless it is given. A register holds neighbours in k, 32 bits of them;
    registers go first through the halves of the rows, then through k. Source: PTX ISA, "Matrix
    Fragments for mma.m16n8k16 with floating point type" and those of other shapes.
    """
    packed = per_register(bits)
    steps = (depth or 256 // bits) // (4 * packed)
    return repeat(1, steps) * repeat(rows // 8, 1) * spatial(8, 4) * repeat(1, packed)


def mma_b(bits: int = 16, depth: int | None = None) -> TaskMapping:
    """The depth × 8 operand B of `mma.sync`. Source: as for `mma_a`."""
    packed = per_register(bits)
    steps = (depth or 256 // bits) // (4 * packed)
    return repeat(steps, 1) * col_spatial(4, 8) * repeat(packed, 1)


def mma_c(rows: int = 16, columns: int = 8) -> TaskMapping:
    """The 16×8 accumulator C or D of `mma.sync`; of more columns, what a warp has of `wgmma`'s.

    A thread has pairs of neighbours, first through the halves of the rows, then through columns.
    Source: as for `mma_a`.
    """
    return repeat(1, columns // 8) * repeat(rows // 8, 1) * spatial(8, 4) * repeat(1, 2)


def ldmatrix(count: int = 4, *, transposed: bool = False, bits: int = 16) -> TaskMapping:
    """What `ldmatrix.m8n8.x{count}` leaves in registers: a tile of (matrix, row, column).

    `stmatrix` takes the same fragment; rows have 16 bytes. Source: PTX ISA, "Warp-level matrix
    load instruction: ldmatrix".
    """
    require_matrices(count)
    packed = per_register(bits)
    if transposed:
        return repeat(count, 1, 1) * spatial(1, 4, 8, order=(0, 2, 1)) * repeat(1, packed, 1)
    return repeat(count, 1, 1) * spatial(1, 8, 4) * repeat(1, 1, packed)


def ldmatrix_rows(count: int = 4) -> TaskMapping:
    """Which (matrix, row) each of the first `8 * count` lanes gives the address of.

    The other lanes' addresses are ignored, but must still be valid for .x1 and .x2.
    """
    require_matrices(count)
    return spatial(count, 8)


def matrix_rows(bits: int = 16) -> TaskMapping:
    """Which 16 bytes of a tile of 16 rows of 32 bytes each lane gives `ldmatrix` and `stmatrix`
    the address of, so that they are `mma_a` or two of `mma_c` side by side: its first task."""
    return spatial(1, 2) * spatial(16, 1) * repeat(1, 128 // bits)


def matrices(bits: int = 16, across: bool = False) -> TaskMapping:
    """The same, matrix by matrix. `across`: they follow each other across first, as two of `mma_b`
    do in a tile whose rows run along k, or `mma_a` in one whose columns do."""
    first, then = ((1, 2), (2, 1)) if across else ((2, 1), (1, 2))
    return spatial(*then) * spatial(*first) * spatial(8, 1) * repeat(1, 128 // bits)


def wgmma_a(bits: int = 16) -> TaskMapping:
    """The 64-row operand A in registers of `wgmma`, over the 128 threads of a warpgroup.

    Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16".
    """
    return spatial(WARPS, 1) * mma_a(bits)


def wgmma_c(columns: int) -> TaskMapping:
    """The 64×`columns` accumulator D of `wgmma`, over the 128 threads of a warpgroup.

    `columns` is a multiple of 8, up to 256. Source: as for `wgmma_a`.
    """
    if columns % 8 or not 8 <= columns <= 256:
        raise BadArgument(f"wgmma has 8, 16, ... 256 columns, not {columns}")
    return spatial(WARPS, 1) * mma_c(16, columns)


def per_register(bits: int) -> int:
    """How many elements a 32-bit register holds; one of 64 bits takes two registers."""
    if bits not in ELEMENT_BITS:
        raise BadArgument(f"fragments hold elements of 8, 16, 32 or 64 bits, not {bits}")
    return max(1, 32 // bits)


def require_matrices(count: int) -> None:
    """BadArgument if `ldmatrix` does not load so many."""
    if count not in (1, 2, 4):
        raise BadArgument(f"ldmatrix loads 1, 2 or 4 matrices, not {count}")
