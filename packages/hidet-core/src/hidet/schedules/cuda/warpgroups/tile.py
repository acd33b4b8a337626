"""Contractions by warpgroups (sm_90a): the kernel around the pipeline of `ring.py`.

Blocks stay and take tiles of the result in turns (`loop.py`), in an order in which those
under way at once share rows and columns in the second cache; or those of a cluster share the sum
over k of a tile, where there are too few.
"""

from __future__ import annotations

from hidet.ir.kernel import Module
from hidet.lang import Global, attr, minimum, script, script_module, shared_tensor
from hidet.schedules.assemble import assemble, letting_next, marked, operand_type
from hidet.schedules.base import AccumulatorEpilogue
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.cluster_partials import ClusterPartials, partials_shape
from hidet.schedules.cuda.epilogue import Epilogue
from hidet.schedules.cuda.warpgroups.barriers import pipeline_of
from hidet.schedules.cuda.warpgroups.groups import Warpgroups, sum_type
from hidet.schedules.cuda.warpgroups.lines import staging_shape
from hidet.schedules.cuda.warpgroups.loop import SharedSums, share_tile, take_tiles
from hidet.schedules.cuda.warpgroups.pairs import sums_to
from hidet.schedules.cuda.warpgroups.ring import Ring, held_by
from hidet.schedules.cuda.warpgroups.tile_order import Order
from hidet.target import WARP, Target


def by_warpgroups(
    name: str,
    p: Contraction,
    point: Warpgroups,
    target: Target,
    after: AccumulatorEpilogue | None = None,
) -> Module:
    """A matmul as one kernel, with the epilogue `after` on its accumulators."""
    if point.slices > 1:
        return in_clusters(name, p, point)
    (a_side, b_side), stages, resident = point.sides(p), point.stages, point.resident(p, target)
    tiles = point.tiles(p)
    # Registers to hold the bias meanwhile are there where a block is alone.
    early = p.c.dtype if p.bias is not None and resident == 1 else None

    with script_module():

        @script(a=p.a, b=p.b, bias=operand_type(p.bias, p.c), c=p.c)
        def product(a: Global, b: Global, bias: Global, c: Global) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = minimum(tiles, resident * target.cores)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = resident
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
            end = sums_to(staged, bias, c, p, point.columns, early, after)
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            take_tiles(ring, order, tiles, end)

    made = assemble(name, [product], names_of(p), ["c"])
    made = letting_next(made, point.lets_next(p, target))
    return marked(made, early=["bias"] if early else [], ahead=point.ahead(p))


def in_clusters(name: str, p: Contraction, point: Warpgroups) -> Module:
    """A product as one kernel, of which a cluster shares the sum of each tile."""
    (a_side, b_side), stages, wide = point.sides(p), point.stages, sum_type(p.a.dtype)

    with script_module():

        @script(a=p.a, b=p.b, bias=operand_type(p.bias, p.c), c=p.c)
        def product(a: Global, b: Global, bias: Global, c: Global) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = point.tiles(p) * point.slices
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (point.slices, 1, 1)
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            sums = shared_tensor(wide, partials_shape(point.block, wide))
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            partials = ClusterPartials(sums, point.block, point.consumers, point.slices)
            share_tile(ring, order, partials, SharedSums(Epilogue(p, bias, c)))

    return marked(assemble(name, [product], names_of(p), ["c"]), ahead=point.ahead(p))
