"""Contractions by warpgroups (sm_90a): the kernel around the pipeline of `wgmma_ring.py`.

Blocks stay and take tiles of the result in turns, in an order in which those under way at once
share rows and columns in the second cache.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="arg-type, name-defined, valid-type"
from hidet.ir.kernel import Module
from hidet.lang import attr, minimum, register_tensor, script, script_module, shared_tensor
from hidet.lang.cuda import blockIdx, gridDim, setmaxnreg_inc, threadIdx
from hidet.schedules.assemble import assemble, letting_next, marked, operand_type
from hidet.schedules.base import After
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.barriers import pipeline_of
from hidet.schedules.cuda.lines import staging_shape
from hidet.schedules.cuda.tile_order import Order
from hidet.schedules.cuda.warpgroups import MANY, Warpgroups, sum_type
from hidet.schedules.cuda.wgmma_clusters import in_clusters
from hidet.schedules.cuda.wgmma_pairs import sums_to
from hidet.schedules.cuda.wgmma_ring import Ring, held_by
from hidet.target import WARP, Target


def by_warpgroups(
    name: str, p: Contraction, point: Warpgroups, target: Target, after: After | None = None
) -> Module:
    """A matmul as one kernel, with the epilogue `after` on its accumulators."""
    if point.slices > 1:
        return in_clusters(name, p, point)
    (a_side, b_side), stages, resident = point.sides(p), point.stages, point.resident(p, target)
    turns, tiles = a_side.turns, point.tiles(p)
    # Registers to hold the bias meanwhile are there where a block is alone.
    early = p.c.dtype if p.bias is not None and resident == 1 else None

    with script_module():

        @script
        def product(a: p.a, b: p.b, bias: operand_type(p.bias, p.c), c: p.c) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = minimum(tiles, resident * target.cores)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = resident
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
            epilogue = sums_to(staged, bias, c, p, point.columns, early, after)
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            ring.begin(order, blockIdx.x, 0, turns)
            if threadIdx.x < point.consumers:
                if point.borrows:
                    setmaxnreg_inc(MANY)
                sums = register_tensor(sum_type(p), point.columns // 2)
                for number in range(blockIdx.x, tiles, gridDim.x):
                    tile = order.tile(number)
                    shift = epilogue.prefetch(tile)
                    ring.consume(sums, turns)
                    epilogue.write(sums, shift, tile)
            else:
                ring.produce_all(order, tiles, turns)

    made = assemble(name, [product], names_of(p), ["c"])
    made = letting_next(made, point.lets_next(p, target))
    return marked(made, early=["bias"] if early else [], ahead=point.ahead(p))
