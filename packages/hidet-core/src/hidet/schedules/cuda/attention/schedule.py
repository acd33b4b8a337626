"""Attention in one pass over the keys, with no scores in memory: FlashAttention-2 (Dao 2023).

A block has rows of q, and tiles of keys are loaded by a multistage pipeline. Each warp has the
online softmax and the accumulators of its rows in registers. Where rows are few, warps divide the
keys of a tile, and blocks divide all keys (split-K).
"""

from __future__ import annotations

from hidet import options
from hidet.lang import Global, attr, cdiv, f32, part, script, script_module, shared_tensor
from hidet.lang.cuda import blockIdx, cluster_sync, syncthreads
from hidet.ops.products.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import is_sized, rows_of, types_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention.blocks import Blocks, pays
from hidet.schedules.cuda.attention.main_loop import main_loop, warp_position
from hidet.schedules.cuda.attention.non_finite import Operands
from hidet.schedules.cuda.attention.partials import (
    Partials,
    ResultRows,
    WorkspaceRows,
    combine_kernel,
    partials_shape,
    write_fragments,
)
from hidet.schedules.cuda.attention.query_tile import QueryTile, split_tile
from hidet.schedules.cuda.attention.softmax import OnlineSoftmax, softmax_of
from hidet.schedules.cuda.attention.tf32 import tf32_products
from hidet.target import Target
from hidet.types import bf16, f16, tf32


def by_tensor_cores(op: Attention, target: Target) -> bool:
    """Whether types, target and options are for tensor cores, and heads have a known size."""
    narrow, allowed = op.q.dtype in (f16, bf16), options.mma.get() == "mma"
    able = target.has_feature("mma_f16") and target.has_feature("cp_async")
    if not (allowed and able and is_sized(op)):
        return False
    reached = target.measured.attention_single / tf32_products()
    return narrow or (op.q.dtype is f32 and pays(rows_of(op), target, tf32.name, reached))


@schedule_for(Attention, target="cuda", space=Blocks, when=by_tensor_cores)
def attention_mma(op: Attention, target: Target, point: Blocks) -> Scheduled:
    """Tiles of q and of k and v, by warps with `mma.sync`."""
    return tiled(op, target, point)


def tiled(op: Attention, target: Target, point: Blocks) -> Scheduled:
    """Attention as one kernel, or as two where blocks divide the keys without a cluster."""
    rows, slices = rows_of(op), point.slices
    height, width = point.part[0], point.padded(rows)[1]
    cluster = slices if point.clustered(target) else 1
    blocks = cdiv(rows.count, point.rows)
    padded = blocks * point.rows
    partial_type = f32[slices, rows.stacks * padded, width]
    statistics_type = f32[slices, rows.stacks * padded, 2]
    wave, emulated = point.wave(rows, target), point.emulated(rows)

    with script_module():

        @script(
            **types_of(op), partial=partial_type, partial_statistics=statistics_type, y=op.infer()
        )
        def attend(
            q: Global, k: Global, v: Global, mask: Global,
            partial: Global, partial_statistics: Global, y: Global,
        ) -> None:  # fmt: skip
            attr.func_name = op.name
            attr.cuda_grid_dim = (blocks * rows.stacks, 1, slices)
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (1, 1, cluster)
            tile = split_tile(rows, (point.rows, point.keys), slices, wave, blocks)
            of = Operands(rows, q, k, v, mask, y, emulated)
            softmax = softmax_of(rows, mask, height // 16, width // 8)
            main_loop(point, of, tile, softmax)
            softmax.reduce_row_sum()
            end(point, of, cluster, softmax, Partials(partial, partial_statistics), tile)

        kernels = [attend]
        if slices > cluster:
            kernels.append(
                combine_kernel(op.name, rows, emulated, partial_type, statistics_type, padded)
            )
    workspaces = ["partial", "partial_statistics"]
    return Scheduled(assemble(op.name, kernels, op.operand_labels(), ["y"], workspaces), point)


@part
def end(
    point: Blocks, of: Operands, cluster: int, softmax: OnlineSoftmax, workspace: Partials,
    tile: QueryTile,
) -> None:  # fmt: skip
    """A block's accumulators become the result, or its part of the workspace."""
    rows, threads = of.rows, point.threads
    row, key_warp = warp_position(point)
    if point.warps[1] == point.slices == 1:
        write_fragments(of, softmax, tile.z, tile.top + row)
    else:
        shape = partials_shape(point.warps[1], point.rows, point.padded(rows)[1])
        accumulators = shared_tensor(f32, shape)
        statistics = shared_tensor(f32, (*shape[:2], 2))
        partials, result = (
            Partials(accumulators, statistics, cluster),
            ResultRows(of, tile.z, tile.top),
        )
        partials.put(softmax, key_warp, row)
        if cluster > 1:
            cluster_sync()
            partials.merge_tile(threads, blockIdx.z, result)
            # A block's shared memory goes with it: it stays until all have read there.
            cluster_sync()
        else:
            syncthreads()
            if point.slices > 1:
                first = tile.z * (cdiv(rows.count, point.rows) * point.rows) + tile.top
                partials.merge_tile(threads, 0, WorkspaceRows(workspace, blockIdx.z, first))
            else:
                partials.merge_tile(threads, 0, result)
