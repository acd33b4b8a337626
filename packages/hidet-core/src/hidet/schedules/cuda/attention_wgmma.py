"""Attention by warpgroups (sm_90a): one has tiles of keys brought, the others multiply.

As in `attention.py`, a block owns rows of q and keys come by in tiles. A warpgroup has 64 rows, and
sums for all columns of v.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, name-defined, valid-type"
from hidet import options
from hidet.compute.sizes import below
from hidet.lang import (
    ScriptFunction,
    attr,
    cdiv,
    f32,
    register_tensor,
    script,
    script_module,
    shared_tensor,
)
from hidet.lang import min as minimum
from hidet.lang.cuda import (
    blockIdx,
    setmaxnreg_dec,
    setmaxnreg_inc,
    threadIdx,
    wgmma_layout,
)
from hidet.ops.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import Rows, is_sized, mask_type, rows_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention_groups import FEWEST, Groups
from hidet.schedules.cuda.attention_softmax import LOW, totalling
from hidet.schedules.cuda.attention_wgmma_ring import beginning, boxes_of, mappable, producing
from hidet.schedules.cuda.attention_wgmma_walk import filling, walking
from hidet.schedules.cuda.attention_wgmma_write import writing
from hidet.schedules.cuda.wgmma_staging import staging_shape
from hidet.target import WARP, Target
from hidet.types import bf16, f16, u64

STEP = 16
"""Rows of a warp."""
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


@schedule_for(Attention, target="cuda", space=Groups, when=by_warpgroups, closed=(1, 2))
def attention_wgmma(op: Attention, target: Target, point: Groups) -> Scheduled:
    """Tiles of q and of k and v, by warpgroups with `wgmma`."""
    rows, dtype = rows_of(op), op.q.dtype
    (size, width), keys, stages = point.padded(rows), point.keys, point.stages
    blocks = cdiv(rows.count, point.rows)

    with script_module():
        place, begin = placing(rows, point, target), beginning(point)
        produce, fill, walk = producing(rows, point), filling(rows, point), walking(rows, point)
        add_totals, write = totalling(STEP), writing(rows, point)

        @script
        def attend(q: op.q, k: op.k, v: op.v, mask: mask_type(op), y: op.infer()) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = blocks * rows.stacks
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = point.resident
            maps = boxes_of(k, point), boxes_of(v, point)
            tile_q = shared_tensor(dtype, (point.rows, size), wgmma_layout(dtype, point.rows, size))
            at_k, at_v = (wgmma_layout(dtype, stages, keys, each) for each in (size, width))
            tiles_k = shared_tensor(dtype, (stages, keys, size), at_k)
            tiles_v = shared_tensor(dtype, (stages, keys, width), at_v)
            staged = shared_tensor(dtype, staging_shape(point.consumers // WARP))
            bars = shared_tensor(u64, (2, 2, stages))
            begin(bars, *maps)
            z, top, turns = place(blocks)
            if threadIdx.x < point.consumers:
                setmaxnreg_inc(point.borrowed(target))
                tops = register_tensor(f32, (1, 2), init=LOW)
                totals = register_tensor(f32, (1, 2), init=0.0)
                sums = register_tensor(f32, (1, width // 8, 4), init=0.0)
                fill(q, tile_q, z, top)
                walk(tile_q, tiles_k, tiles_v, bars, mask, z, top, turns, tops, totals, sums)
                add_totals(totals)
                write(sums, totals, staged, y, z, top)
            else:
                setmaxnreg_dec(FEWEST)
                if threadIdx.x == point.consumers:
                    produce(maps, (tiles_k, tiles_v), bars, z, turns)

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
