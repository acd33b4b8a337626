"""The same as `wgmma_tile.py` where there are too few tiles: k is split among the blocks of a
cluster, as in `tile.py`.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="arg-type, name-defined, valid-type"
from hidet.ir.kernel import Module
from hidet.lang import attr, cdiv, register_tensor, script, script_module, shared_tensor
from hidet.lang.cuda import blockIdx, cluster_sync, syncwarp, threadIdx
from hidet.schedules.assemble import assemble, marked, operand_type
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.barriers import pipeline_of
from hidet.schedules.cuda.epilogue import Epilogue
from hidet.schedules.cuda.pile import add_pile, pile_shape
from hidet.schedules.cuda.tile_order import Order
from hidet.schedules.cuda.warpgroups import Warpgroups, sum_type
from hidet.schedules.cuda.wgmma_ring import Ring, held_by
from hidet.schedules.cuda.wgmma_write import keeping


def in_clusters(name: str, p: Contraction, point: Warpgroups) -> Module:
    """A product as one kernel, of which a cluster shares the sum of each tile."""
    a_side, b_side = point.sides(p)
    stages, slices = point.stages, point.slices
    turns, wide = cdiv(a_side.turns, slices), sum_type(p)
    bias_type = operand_type(p.bias, p.c)

    with script_module():
        keep = keeping(point)
        add = add_pile(point.block, point.consumers, slices, wide)

        @script
        def product(a: p.a, b: p.b, bias: bias_type, c: p.c) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = point.tiles(p) * slices
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (slices, 1, 1)
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            pile = shared_tensor(wide, pile_shape(point.block, wide))
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            number, share = blockIdx.x // slices, blockIdx.x % slices
            ring.begin(order, number, share * turns, turns)
            tile = order.tile(number)
            if threadIdx.x < point.consumers:
                sums = register_tensor(wide, point.columns // 2)
                ring.consume(sums, turns)
                keep(sums, pile)
            elif threadIdx.x == point.consumers:
                ring.produce(tile, share * turns, turns)
            syncwarp()
            cluster_sync()
            if threadIdx.x < point.consumers:
                add(pile, Epilogue(p, bias, c), tile.z, share, tile.top, tile.left)
            # A block's shared memory goes with it: it stays until all others have read there.
            cluster_sync()

    return marked(assemble(name, [product], names_of(p), ["c"]), ahead=point.ahead(p))
