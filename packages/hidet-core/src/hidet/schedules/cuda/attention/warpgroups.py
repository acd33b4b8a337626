"""Attention by warpgroups (sm_90a): one loads tiles of keys by TMA, the others multiply.

A block has rows of q, 64 of them for each warpgroup, which has accumulators for all columns of v.
"""

from __future__ import annotations

from hidet import options
from hidet.compute.sizes import below
from hidet.compute.strides import in_rows
from hidet.lang import Global, attr, cdiv, script, script_module, shared_tensor
from hidet.lang.cuda import setmaxnreg_dec, setmaxnreg_inc, threadIdx, wgmma_layout
from hidet.ops.products.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import is_sized, rows_of, types_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention.epilogue import AttentionEpilogue
from hidet.schedules.cuda.attention.groups import PRODUCER_REGISTERS, Groups
from hidet.schedules.cuda.attention.key_tiles import keys_of, mappable, produce, tiles_of
from hidet.schedules.cuda.attention.query_tile import longest_first
from hidet.schedules.cuda.attention.softmax import softmax_of
from hidet.schedules.cuda.attention.warpgroup_loop import load_q, main_loop
from hidet.schedules.cuda.warpgroups.pipeline import begin
from hidet.schedules.cuda.warpgroups.staged_store import LANES, staging_shape
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.target import WARP, Target
from hidet.types import bf16, f16, u64

SORTED_WAVES = 2
"""How many blocks, for each that the device holds at once, are sorted by their work."""


def by_warpgroups(op: Attention, target: Target) -> bool:
    """Whether types, target and options are for warpgroups, and TMA can load k and v.

    There is no tensor map of no keys: where their number is not known, there are no fewer than
    rows.
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
    room = int(SORTED_WAVES * target.cores * point.resident)

    with script_module():

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
            tile = longest_first(rows, (point.rows, point.keys), room, blocks)
            if threadIdx.x < point.consumers:
                setmaxnreg_inc(point.consumer_registers(target))
                softmax = softmax_of(rows, mask, 1, width // 8)
                load_q(rows, point, q, tile_q, tile)
                main_loop(point.groups, tile_q, keys, values, tile, softmax)
                softmax.reduce_row_sum()
                epilogue = AttentionEpilogue(width, LANES, staged, y, rows)
                epilogue.finish(softmax, Tile(tile.z, tile.top, 0))
            else:
                setmaxnreg_dec(PRODUCER_REGISTERS)
                if threadIdx.x == point.consumers:
                    produce(keys, values, tile.z, tile.iterations)

    return Scheduled(assemble(op.name, [attend], op.operand_labels(), ["y"]), point)
