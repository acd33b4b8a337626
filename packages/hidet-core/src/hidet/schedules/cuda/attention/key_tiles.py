"""Tiles of k and v for attention by warpgroups (sm_90a): one thread loads them by TMA.

Tiles of k and of v have pipelines of their own: k is needed first, and released first.
"""

from __future__ import annotations

from hidet.lang import Global, Int, Map, Shared, address, part, record, shared_tensor, static
from hidet.lang.cuda import mbarrier_arrive_expect_tx, tensor_map, tma_load, wgmma_layout
from hidet.schedules.attention import Rows
from hidet.schedules.cuda.attention.groups import PANEL, Groups
from hidet.schedules.cuda.warpgroups.operand import has_even_rows
from hidet.schedules.cuda.warpgroups.pipeline import FULL, Pipeline
from hidet.types import TensorType


def mappable(of: TensorType) -> bool:
    """Whether a tensor map can describe k or v: few axes, and rows of whole vectors of 16 bytes."""
    return has_even_rows(of, of.shape[-1]) and of.ndim <= 5


@record
class KeyTiles:
    """The tiles of k, or of v, in the stages of their pipeline."""

    rows: Rows
    point: Groups
    boxes: Map
    tiles: Shared
    pipe: Pipeline

    @part
    def load(self, z: Int, iteration: Int) -> None:
        """For one thread: the copies of a tile of stack `z` are started."""
        stage = self.pipe.acquire(iteration)
        full, keys, size = self.pipe.barrier(FULL, stage), self.point.keys, self.tiles.shape[-1]
        mbarrier_arrive_expect_tx(full, keys * size * self.tiles.dtype.nbytes)
        for column in static(range(0, size, PANEL)):
            at = self.rows.key_at(z, iteration * keys, column)
            tma_load(address(self.tiles, stage, 0, column), self.boxes, at, full)


@part
def tiles_of(operand: Global, point: Groups, size: int) -> Shared:
    """Shared memory for tiles of k or v, whose rows have so many elements."""
    shape = (point.stages, point.keys, size)
    return shared_tensor(operand.dtype, shape, wgmma_layout(operand.dtype, *shape))


@part
def keys_of(
    operand: Global, tiles: Shared, bars: Shared, which: int, rows: Rows, point: Groups
) -> KeyTiles:
    """The tiles of k or v, of which a copy loads one panel of each row."""
    box = (*(1,) * (len(operand.shape) - 2), point.keys, PANEL)
    boxes = tensor_map(operand, box, swizzle="128B", promotion="256B")
    return KeyTiles(rows, point, boxes, tiles, Pipeline(point.stages, bars, (which,)))


@part
def produce(k: KeyTiles, v: KeyTiles, z: Int, iterations: Int) -> None:
    """For one thread: it loads so many tiles of stack `z`."""
    for iteration in range(iterations):
        k.load(z, iteration)
        v.load(z, iteration)
