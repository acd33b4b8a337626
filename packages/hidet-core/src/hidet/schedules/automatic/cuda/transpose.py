"""Elements whose operands run along another axis than the result does, on CUDA.

A block reads a tile of each such operand along the operand's own innermost axis, leaves it in
shared memory, and takes it from there along the result's: both sides of global memory move 16 bytes
at a time. Where sizes allow whole accesses, pieces of 16 bytes change places by an exclusive or of
row and column, so that neither side of shared memory waits for a bank; else rows are a word longer.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.compute.places import unravel
from hidet.compute.sizes import product
from hidet.ir.expr import Expr, Get, Load, Value, Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Body, Declare, Invoke, Store
from hidet.ir.walk import substitute
from hidet.schedules.automatic.access import constant_size, reads, stride, whole_lanes
from hidet.schedules.automatic.cuda.grid import BLOCK, THREAD, kernel
from hidet.schedules.automatic.emit import ceil_div, put, unrolled, vectorized
from hidet.schedules.automatic.plan import MapStage
from hidet.target import ACCESS_BYTES
from hidet.types import Scope, Size, TensorType, i32

THREADS = 256
PIECES = 8
"""Accesses of 16 bytes in a row of a tile: a line of the cache."""
LONGEST = 64
"""Elements that a tile has along the result's innermost axis, at least."""
SHORT = 16
"""Sizes below which a tile would be mostly empty."""
MOST = 4
"""Operands that are transposed in one kernel: what fits in shared memory beside other blocks."""


@dataclass(frozen=True)
class Tile:
    """`column` is the result's innermost axis, `row` that of the operands `transposed`."""

    row: Var
    column: Var
    transposed: tuple[Get, ...]
    piece: int
    """Elements of one access of the widest operand."""
    read_lanes: int
    write_lanes: int

    @property
    def rows(self) -> int:
        """Elements along `row`."""
        return PIECES * self.piece

    @property
    def columns(self) -> int:
        """Elements along `column`."""
        return max(self.rows, LONGEST)

    @property
    def whole(self) -> bool:
        """Whether all accesses of global memory are of whole pieces."""
        return self.read_lanes == self.write_lanes == self.piece

    def pitch(self, nbytes: int) -> int:
        """Elements from one column of a tile in shared memory to the next."""
        return self.rows if self.whole else self.rows + max(1, 4 // nbytes)

    def slot(self, row: Expr, column: Expr, nbytes: int, lane_of_row: Value = 0) -> Expr:
        """Where an element of the tile lies; `lane_of_row` goes on within one piece."""
        if not self.whole:
            return column * self.pitch(nbytes) + row + lane_of_row
        place = row // self.piece ^ column // self.piece % PIECES
        return column * self.rows + place * self.piece + row % self.piece + lane_of_row


def choose_tile(stage: MapStage) -> Tile | None:
    """The tile, if some operand runs along another axis than the result and both are long."""
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    real = [var for var in stage.vars if sizes[var] != 1]
    if len(real) < 2 or 0 in stage.shape or short(sizes[real[-1]]):
        return None
    column = real[-1]
    values = (stage.value, *(value for _, value in stage.also))
    found = dict.fromkeys(each for value in values for each in reads(value))
    across = [each for each in found if jumps(each, column)]
    for row in reversed(real[:-1]):
        transposed = tuple(each for each in across if stride(each, row) == 1)
        if transposed and not short(sizes[row]) and len(transposed) <= MOST:
            piece = max(1, ACCESS_BYTES // max(each.tensor.dtype.nbytes for each in transposed))
            lanes = [whole_lanes(piece, sizes[var]) for var in (row, column)]
            return Tile(row, column, transposed, piece, *lanes)
    return None


def short(size: Size) -> bool:
    """Whether an axis is known to be short."""
    known = constant_size(size)
    return known is not None and known < SHORT


def jumps(read: Get, var: Var) -> bool:
    """Whether a step along `var` leaves the neighbourhood."""
    step = stride(read, var)
    return step is not None and step not in (0, 1)


def transpose_kernel(stage: MapStage, name: str, params: tuple[Var, ...], tile: Tile) -> Kernel:
    """Each block transposes one tile."""
    sizes = dict(zip(stage.vars, stage.shape, strict=True))
    outer = [var for var in stage.vars if var not in (tile.row, tile.column)]
    counts = ceil_div(sizes[tile.row], tile.rows), ceil_div(sizes[tile.column], tile.columns)
    grid = (*(sizes[var] for var in outer), *counts)
    *fixed, row_tile, column_tile = unravel(BLOCK, grid)
    index: dict[Var, Expr] = dict(zip(outer, fixed, strict=True))
    corner = row_tile * tile.rows, column_tile * tile.columns
    tiles = {each: shared_tile(tile, each, number) for number, each in enumerate(tile.transposed)}
    body = (
        *(Declare(var) for var in tiles.values()),
        *read_tiles(tile, tiles, index, corner),
        Invoke("syncthreads"),
        *write_tile(stage, tile, tiles, index, corner),
    )
    return kernel(name, params, body, product(grid), THREADS)


def shared_tile(tile: Tile, read: Get, number: int) -> Var:
    """The shared memory of an operand's tile."""
    size = tile.columns * tile.pitch(read.dtype.nbytes)
    return Var(f"tile{number}", TensorType(read.dtype, (size,), Scope.SHARED))


def read_tiles(
    tile: Tile, tiles: dict[Get, Var], index: dict[Var, Expr], corner: tuple[Expr, Expr]
) -> Body:
    """Let the threads go along the operands' rows."""
    across = tile.rows // tile.read_lanes
    iteration, lane = Var("iteration", i32), Var("v", i32)
    number = iteration * THREADS + THREAD
    row, column = number % across * tile.read_lanes, number // across
    here = index | {tile.row: corner[0] + row + lane, tile.column: corner[1] + column}
    body: Body = tuple(
        Store(var, (tile.slot(row, column, read.dtype.nbytes, lane),), substitute(read, here))
        for read, var in tiles.items()
    )
    body = vectorized(lane, tile.read_lanes, body)
    return unrolled(iteration, tile.columns * across // THREADS, body)


def write_tile(
    stage: MapStage,
    tile: Tile,
    tiles: dict[Get, Var],
    index: dict[Var, Expr],
    corner: tuple[Expr, Expr],
) -> Body:
    """Let the threads go along the result's rows."""
    across = tile.columns // tile.write_lanes
    iteration, lane = Var("iteration", i32), Var("v", i32)
    number = iteration * THREADS + THREAD
    row, column = number // across, number % across * tile.write_lanes + lane
    known: dict[Expr, Expr] = {
        read: Load(var, (tile.slot(row, column, read.dtype.nbytes),)) for read, var in tiles.items()
    }
    here = index | {tile.row: corner[0] + row, tile.column: corner[1] + column}
    body = vectorized(lane, tile.write_lanes, put(stage, here, known))
    return unrolled(iteration, tile.rows * across // THREADS, body)
