"""Attention on tensor cores in one pass over the keys, with no scores in memory.

FlashAttention-2 (Dao 2023): a block owns rows of q; keys come by in tiles, several of them under
way at once; each warp keeps the running softmax of its rows, and their sums, in registers. Where
rows are few, warps share the keys of a tile, and blocks share all keys.
"""

from __future__ import annotations

from hidet import options
from hidet.lang import (
    Global,
    Int,
    Registers,
    attr,
    cdiv,
    f32,
    part,
    register_tensor,
    script,
    script_module,
    shared_tensor,
)
from hidet.lang.cuda import blockIdx, cluster_sync, syncthreads
from hidet.ops.products.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import is_sized, rows_of, types_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention.parts import (
    finish,
    hand_over,
    joining,
    partials_shape,
    store_part,
    write,
)
from hidet.schedules.cuda.attention.plain import Operands
from hidet.schedules.cuda.attention.single import products
from hidet.schedules.cuda.attention.softmax import LOW, add_row_sums
from hidet.schedules.cuda.attention.space import Blocks, pays
from hidet.schedules.cuda.attention.walk import own_row, place, walk
from hidet.target import Target
from hidet.types import bf16, f16, tf32


def by_tensor_cores(op: Attention, target: Target) -> bool:
    """Whether types, target and options are for tensor cores, and heads have a known size."""
    narrow, allowed = op.q.dtype in (f16, bf16), options.mma.get() == "mma"
    able = target.has_feature("mma_f16") and target.has_feature("cp_async")
    if not (allowed and able and is_sized(op)):
        return False
    reached = target.measured.attention_single / products()
    return narrow or (op.q.dtype is f32 and pays(rows_of(op), target, tf32.name, reached))


@schedule_for(Attention, target="cuda", space=Blocks, when=by_tensor_cores)
def attention_mma(op: Attention, target: Target, point: Blocks) -> Scheduled:
    """Tiles of q and of k and v, by warps with `mma.sync`."""
    return tiled(op, target, point)


def tiled(op: Attention, target: Target, point: Blocks) -> Scheduled:
    """Attention as one kernel, or as two where blocks share keys without a cluster."""
    rows, slices = rows_of(op), point.slices
    height, width = point.part[0], point.padded(rows)[1]
    together = slices if point.clustered(target) else 1
    blocks = cdiv(rows.count, point.rows)
    padded = blocks * point.rows
    partial_type = f32[slices, rows.stacks * padded, width]
    facts_type = f32[slices, rows.stacks * padded, 2]
    layer, in_parts = point.layer(rows, target), point.in_parts(rows)

    with script_module():

        @script(**types_of(op), partial=partial_type, partial_facts=facts_type, y=op.infer())
        def attend(
            q: Global, k: Global, v: Global, mask: Global,
            partial: Global, partial_facts: Global, y: Global,
        ) -> None:  # fmt: skip
            attr.func_name = op.name
            attr.cuda_grid_dim = (blocks * rows.stacks, 1, slices)
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (1, 1, together)
            z, top, first, turns = place(rows, point, layer, blocks)
            of = Operands(rows, q, k, v, mask, y, in_parts)
            row_max = register_tensor(f32, (height // 16, 2), init=LOW)
            row_sum = register_tensor(f32, (height // 16, 2), init=0.0)
            sums = register_tensor(f32, (height // 16, width // 8, 4), init=0.0)
            walk(point, of, z, top, first, turns, row_max, row_sum, sums)
            add_row_sums(row_sum)
            end(point, of, together, sums, row_max, row_sum, partial, partial_facts, z, top)

        kernels = [attend]
        if slices > together:
            kernels.append(joining(op.name, rows, in_parts, partial_type, facts_type, padded))
    workspaces = ["partial", "partial_facts"]
    return Scheduled(assemble(op.name, kernels, op.operand_labels(), ["y"], workspaces), point)


@part
def end(
    point: Blocks, of: Operands, together: int, sums: Registers, row_max: Registers,
    row_sum: Registers, partial: Global, partial_facts: Global, z: Int, top: Int,
) -> None:  # fmt: skip
    """What warps and blocks have found becomes the result, or a part of it in a workspace."""
    rows, threads = of.rows, point.threads
    row, sharer = own_row(point)
    if point.warps[1] == point.slices == 1:
        write(of, sums, row_sum, z, top + row)
    else:
        width = point.padded(rows)[1]
        partials = shared_tensor(f32, partials_shape(point.warps[1], point.rows, width))
        facts = shared_tensor(f32, (point.warps[1], point.rows, 2))
        hand_over(rows, sums, row_max, row_sum, partials, facts, sharer, row)
        if together > 1:
            cluster_sync()
            finish(of, threads, together, partials, facts, z, top, blockIdx.z)
            # A block's shared memory goes with it: it stays until all have read there.
            cluster_sync()
        else:
            syncthreads()
            if point.slices > 1:
                at = z * (cdiv(rows.count, point.rows) * point.rows) + top
                store_part(threads, partials, facts, partial, partial_facts, blockIdx.z, at)
            else:
                finish(of, threads, 1, partials, facts, z, top, 0)
