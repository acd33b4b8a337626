"""Attention on tensor cores in one pass over the keys, with no scores in memory.

FlashAttention-2 (Dao 2023): a block owns rows of q; keys come by in tiles, several of them under
way at once; each warp keeps the running softmax of its rows, and their sums, in registers. Where
rows are few, warps share the keys of a tile, and blocks share all keys.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from hidet.lang import (
    ScriptFunction,
    attr,
    cast,
    cdiv,
    f32,
    grid,
    register_tensor,
    script,
    script_module,
    select,
    shared_tensor,
    unroll,
    vectorize,
)
from hidet.lang import max as maximum
from hidet.lang import min as minimum
from hidet.lang.cuda import (
    blockIdx,
    cluster_sync,
    cp_async_commit_group,
    cp_async_wait_group,
    syncthreads,
    threadIdx,
)
from hidet.ops.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import Rows, is_sized, mask_type, rows_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention_parts import (
    PADDING,
    finishing,
    handing,
    joining,
    storing,
)
from hidet.schedules.cuda.attention_products import fetching, keeping, scoring, weighing
from hidet.schedules.cuda.attention_softmax import LOW, masking, softening, totalling
from hidet.schedules.cuda.attention_space import Blocks
from hidet.target import Target
from hidet.types import bf16, f16

WARP = 32


def by_tensor_cores(op: Attention, target: Target) -> bool:
    """Whether types and target are of tensor cores, and heads have a known size."""
    narrow = op.q.dtype in (f16, bf16) and target.has_feature("mma_f16")
    return narrow and target.has_feature("cp_async") and is_sized(op)


@schedule_for(Attention, target="cuda", space=Blocks, when=by_tensor_cores)
def attention_mma(op: Attention, target: Target, point: Blocks) -> Scheduled:
    """Tiles of q and of k and v, by warps with `mma.sync`."""
    rows, dtype = rows_of(op), op.q.dtype
    size, width = point.padded(rows)
    height, keys = point.part
    threads, stages, slices = point.threads, point.stages, point.slices
    ahead = max(stages - 1, 1)
    together = slices if point.clustered(target) else 1
    alone = point.warps[1] == slices == 1
    blocks = cdiv(rows.count, point.rows)
    padded = blocks * point.rows
    partial_type = f32[slices, rows.stacks * padded, width]
    facts_type = f32[slices, rows.stacks * padded, 2]

    with script_module():
        fetch_q = fetching(rows.row_at, point.rows, size, threads)
        fetch_k = fetching(rows.key_at, point.keys, size, threads)
        fetch_v = fetching(rows.key_at, point.keys, width, threads)
        keep_q = keeping(height, size, dtype)
        score = scoring(height, keys, size, dtype, point.keeps_q)
        mask_scores = masking(rows, height, keys)
        soften = softening(rows, height, keys, width)
        weigh = weighing(height, keys, width, dtype)
        add_totals = totalling(height)
        write = writing(rows, height, width)
        hand_over = handing(rows, height, width)
        finish = finishing(rows, point.rows, width, threads, point.warps[1], together)
        store_part = storing(rows, point.rows, width, threads, point.warps[1])

        @script
        def attend(
            q: op.q, k: op.k, v: op.v, mask: mask_type(op),
            partial: partial_type, partial_facts: facts_type, y: op.infer(),
        ) -> None:  # fmt: skip
            attr.func_name = op.name
            attr.cuda_grid_dim = (blocks * rows.stacks, 1, slices)
            attr.cuda_block_dim = threads
            attr.cuda_cluster_dim = (1, 1, together)
            z, share = blockIdx.x // blocks, blockIdx.z
            # Rows that see most keys come first: short ones fill the gaps at the end.
            top = (blocks - 1 - blockIdx.x % blocks if op.causal else blockIdx.x % blocks) * point.rows
            limit = rows.keys
            if op.causal:
                last = rows.length if rows.together else minimum(rows.length, top + point.rows)
                limit = minimum(limit, last)
            per = cdiv(cdiv(limit, point.keys), slices)
            first = share * per
            turns = maximum(0, minimum(per, cdiv(limit, point.keys) - first))

            warp = threadIdx.x // WARP
            row, key = warp // point.warps[1] * height, warp % point.warps[1] * keys
            tile_q = shared_tensor(dtype, (1, point.rows, size + 8))
            tiles_k = shared_tensor(dtype, (stages, point.keys, size + 8))
            tiles_v = shared_tensor(dtype, (stages, point.keys, width + 8))
            kept = register_tensor(dtype, (height // 16, size // 16 if point.keeps_q else 1, 8))
            tops = register_tensor(f32, (height // 16, 2), init=LOW)
            totals = register_tensor(f32, (height // 16, 2), init=0.0)
            sums = register_tensor(f32, (height // 16, width // 8, 4), init=0.0)

            fetch_q(q, tile_q, 0, z, top)
            for turn in unroll(ahead):
                if turn < turns:
                    fetch_k(k, tiles_k, turn, z, (first + turn) * point.keys)
                    fetch_v(v, tiles_v, turn, z, (first + turn) * point.keys)
                cp_async_commit_group()
            if point.keeps_q:
                cp_async_wait_group(ahead - 1)
                syncthreads()
                keep_q(tile_q, kept, row)
            for turn in range(turns):
                cp_async_wait_group(ahead - 1)
                syncthreads()
                if turn + ahead < turns:
                    start = (first + turn + ahead) * point.keys
                    fetch_k(k, tiles_k, (turn + ahead) % stages, z, start)
                    fetch_v(v, tiles_v, (turn + ahead) % stages, z, start)
                cp_async_commit_group()
                scores = register_tensor(f32, (height // 16, keys // 8, 4), init=0.0)
                score(tile_q, kept, tiles_k, turn % stages, scores, row, key)
                start = (first + turn) * point.keys
                end = start + point.keys
                edge = end > rows.keys
                if op.causal:
                    edge = end > minimum(rows.keys, 1 if rows.together else top + row + 1)
                mask_scores(scores, mask, z, top + row, start + key, edge)
                soften(scores, tops, totals, sums)
                weigh(scores, tiles_v, turn % stages, sums, key)
            add_totals(totals)
            if alone:
                write(sums, totals, y, z, top + row)
            else:
                pile = shared_tensor(f32, (point.warps[1], point.rows, width + PADDING))
                facts = shared_tensor(f32, (point.warps[1], point.rows, 2))
                hand_over(sums, tops, totals, pile, facts, warp % point.warps[1], row)
                if together > 1:
                    cluster_sync()
                    finish(pile, facts, y, z, top, share)
                    # A block's shared memory goes with it: it stays until all have read there.
                    cluster_sync()
                else:
                    syncthreads()
                    if slices > 1:
                        at = z * padded + top
                        store_part(pile, facts, partial, partial_facts, share, at)
                    else:
                        finish(pile, facts, y, z, top, 0)

        kernels = [attend]
        if slices > together:
            kernels.append(joining(op.name, rows, partial_type, facts_type, padded))
    module = assemble(
        op.name, kernels, op.operand_labels(), ["y"], ["partial", "partial_facts"]
    )
    return Scheduled(module, point)


def writing(rows: Rows, height: int, width: int) -> ScriptFunction:
    """A part of a kernel: (sums, totals, y, z, row). Each lane writes what it has summed."""

    @script
    def write(sums, totals, y, z, row):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        for i, half in unroll(grid(height // 16, 2)):
            total = totals[i, half]
            inverse = select(total == 0.0, 0.0, 1.0 / total)
            for j in unroll(width // 8):
                for c in vectorize(2):
                    at = (row + i * 16 + half * 8 + lane // 4, j * 8 + lane % 4 * 2 + c)
                    value = cast(sums[i, j, half * 2 + c] * inverse, y.dtype)
                    y.put(*rows.row_at(z, *at), value)

    return write
