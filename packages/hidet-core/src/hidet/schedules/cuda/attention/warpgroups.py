"""Attention by warpgroups (sm_90a): one has tiles of keys brought, the others multiply.

As in `attention.py`, a block owns rows of q and keys come by in tiles. A warpgroup has 64 rows, and
sums for all columns of v.
"""

from __future__ import annotations

from hidet import options
from hidet.compute.sizes import below
from hidet.compute.strides import in_rows
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cdiv,
    f32,
    minimum,
    register_tensor,
    script,
    script_module,
    shared_tensor,
)
from hidet.lang.cuda import blockIdx, setmaxnreg_dec, setmaxnreg_inc, threadIdx, wgmma_layout
from hidet.ops.products.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import Rows, is_sized, rows_of, types_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention.groups import FEWEST, Groups
from hidet.schedules.cuda.attention.ring import keys_of, mappable, produce, tiles_of
from hidet.schedules.cuda.attention.softmax import LOW, add_row_sums
from hidet.schedules.cuda.attention.warpgroup_walk import fill, walk
from hidet.schedules.cuda.attention.write import WeightedSums
from hidet.schedules.cuda.warpgroups.barriers import begin
from hidet.schedules.cuda.warpgroups.lines import LANES, staging_shape
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.target import WARP, Target
from hidet.types import bf16, f16, u64

ROUNDS = 2
"""How many blocks, for each that the device holds at once, are sorted by what they have to do."""


def by_warpgroups(op: Attention, target: Target) -> bool:
    """Whether types, target and options are for warpgroups, and k and v for the copy engine.

    No tensor map is of no keys: where their number is not known, there are no fewer than rows.
    """
    able = target.has_feature("wgmma") and options.mma.get() == "mma"
    if not able or op.q.dtype not in (f16, bf16) or not is_sized(op):
        return False
    keys = op.k.shape[-2]
    there = isinstance(keys, int) or below(keys, op.q.shape[-2]) is False
    return there and mappable(op.k) and mappable(op.v)


@schedule_for(
    Attention, target="cuda", space=Groups, when=by_warpgroups, without_prologue=(1, 2),
    view=lambda op, place: in_rows(op.types()[place].shape),
)  # fmt: skip
def attention_wgmma(op: Attention, target: Target, point: Groups) -> Scheduled:
    """Tiles of q and of k and v, by warpgroups with `wgmma`."""
    rows, dtype = rows_of(op), op.q.dtype
    size, width = point.padded(rows)
    blocks = cdiv(rows.count, point.rows)

    with script_module():
        place = placing(rows, point, target)

        @script(**types_of(op), y=op.infer())
        def attend(q: Global, k: Global, v: Global, mask: Global, y: Global) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = blocks * rows.stacks
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = point.resident
            tile_q = shared_tensor(dtype, (point.rows, size), wgmma_layout(dtype, point.rows, size))
            tiles_k, tiles_v = tiles_of(k, point, size), tiles_of(v, point, width)
            staged = shared_tensor(dtype, staging_shape(point.consumers // WARP))
            bars = shared_tensor(u64, (2, 2, point.stages))
            keys = keys_of(k, tiles_k, bars, 0, rows, point)
            values = keys_of(v, tiles_v, bars, 1, rows, point)
            consumers = point.consumers // WARP
            begin([keys.pipe, values.pipe], [keys.boxes, values.boxes], 1, consumers)
            z, top, turns = place(blocks)
            if threadIdx.x < point.consumers:
                setmaxnreg_inc(point.borrowed(target))
                row_max = register_tensor(f32, (1, 2), init=LOW)
                row_sum = register_tensor(f32, (1, 2), init=0.0)
                sums = register_tensor(f32, (1, width // 8, 4), init=0.0)
                fill(rows, point, q, tile_q, z, top)
                walk(rows, point, tile_q, keys, values, mask, z, top, turns, row_max, row_sum, sums)
                add_row_sums(row_sum)
                WeightedSums(width, LANES, staged, y, rows).finish(sums, row_sum, Tile(z, top, 0))
            else:
                setmaxnreg_dec(FEWEST)
                if threadIdx.x == point.consumers:
                    produce(keys, values, z, turns)

    return Scheduled(assemble(op.name, [attend], op.operand_labels(), ["y"]), point)


def placing(rows: Rows, point: Groups, target: Target) -> ScriptFunction:
    """A part of a kernel: (blocks) -> (z, top, turns). The block's stack, its first row, its tiles.

    Causal blocks begin in the order of what they have to do, the longest first: not of all stacks,
    whose keys would not find room in the second cache, but of as many as are soon under way.
    """
    room = int(ROUNDS * target.cores * point.resident)
    causal = rows.op.causal

    @script
    def place(blocks):  # type: ignore[no-untyped-def]
        z, number = blockIdx.x // blocks, blockIdx.x % blocks
        if causal:
            sections = cdiv(rows.stacks, cdiv(room, blocks))
            section = cdiv(rows.stacks, sections)
            first = blockIdx.x // (section * blocks) * section
            together = minimum(section, rows.stacks - first)
            within = blockIdx.x - first * blocks
            z, number = first + within % together, blocks - 1 - within // together
        top = number * point.rows
        last = rows.length if rows.together else minimum(rows.length, top + point.rows)
        turns = cdiv(minimum(rows.keys, last) if causal else rows.keys, point.keys)
        return z, top, turns

    return place
