"""Contractions by warpgroups (sm_90a): kernels around the ring of `wgmma_ring.py`.

Blocks stay and take tiles of the result in turns, in an order in which those under way at once
share rows and columns in the second cache. Where there are too few tiles, the blocks of a cluster
share the sum over k of one, as in `tile.py`.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="arg-type, assignment, attr-defined, name-defined, valid-type"
from dataclasses import replace

from hidet.ir.kernel import Module
from hidet.lang import (
    attr,
    cdiv,
    minimum,
    register_tensor,
    script,
    script_module,
    shared_tensor,
)
from hidet.lang.cuda import (
    blockIdx,
    cluster_sync,
    gridDim,
    setmaxnreg_inc,
    syncwarp,
    threadIdx,
)
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import After
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.pile import add_pile, pile_shape
from hidet.schedules.cuda.tile_order import Order
from hidet.schedules.cuda.warpgroups import MANY, Warpgroups, sum_type
from hidet.schedules.cuda.wgmma_operand import Operand
from hidet.schedules.cuda.wgmma_ring import Ring, held_by
from hidet.schedules.cuda.wgmma_staging import staging_shape
from hidet.schedules.cuda.wgmma_write import biasing, keeping, writing
from hidet.target import WARP, Target
from hidet.types import u64


def by_warpgroups(
    name: str, p: Contraction, point: Warpgroups, target: Target, after: After | None = None
) -> Module:
    """A product as one kernel, with what comes `after` settled where its sums are."""
    if point.slices > 1:
        return shared(name, p, point)
    return persistent(name, p, point, target, after)


def persistent(
    name: str, p: Contraction, point: Warpgroups, target: Target, after: After | None
) -> Module:
    """A product as one kernel, whose blocks take whole tiles in turns."""
    a_side, b_side = point.sides(p)
    stages = point.stages
    warps = point.consumers // WARP
    turns, wide = a_side.turns, sum_type(p)
    tiles = point.tiles(p)
    seats = point.resident(p, target) * target.cores
    bias_type = operand_type(p.bias, p.c)
    # Registers to hold it meanwhile are there where a block is alone.
    early = p.bias is not None and point.resident(p, target) == 1

    with script_module():
        bring, finish = biasing(p, point.columns), writing(p, point.columns, early, after)

        @script
        def product(a: p.a, b: p.b, bias: bias_type, c: p.c) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = minimum(tiles, seats)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = point.resident(p, target)
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            staged = shared_tensor(p.c.dtype, staging_shape(warps))
            ring = Ring(point, held_a, held_b, shared_tensor(u64, (2, stages)))
            ring.begin(order, blockIdx.x, 0, turns)
            if threadIdx.x < point.consumers:
                if point.borrows:
                    setmaxnreg_inc(MANY)
                sums = register_tensor(wide, point.columns // 2)
                count = 0
                for number in range(blockIdx.x, tiles, gridDim.x):
                    tile = order.tile(number)
                    if early:
                        ahead = register_tensor(p.c.dtype, (point.columns // 8, 2))
                        bring(bias, ahead, tile.z, tile.top, tile.left)
                        ring.consume(sums, count, turns)
                        finish(sums, staged, ahead, c, tile.z, tile.top, tile.left)
                    else:
                        ring.consume(sums, count, turns)
                        finish(sums, staged, bias, c, tile.z, tile.top, tile.left)
                    count += turns
            else:
                ring.produce_all(order, tiles, turns)

    made = bringing_ahead(assemble(name, [product], names_of(p), ["c"]), b_side)
    (kernel,) = made.kernels
    launch = replace(kernel.launch, lets_next=point.lets_next(p, target))
    made = replace(made, kernels=(replace(kernel, launch=launch),))
    return loading_early(made, "bias") if early else made


def loading_early(module: Module, *names: str) -> Module:
    """The same, whose loads of some operands stay ahead of the barriers that follow them."""
    (kernel,) = module.kernels
    early = tuple(each for each in kernel.params if each.name in names)
    return replace(module, kernels=(replace(kernel, early=early),))


def bringing_ahead(module: Module, b_side: Operand) -> Module:
    """The same, whose weights may be brought ahead of the wait for the kernels before."""
    (kernel,) = module.kernels
    ahead = tuple(each for each in kernel.params if each.name == "b" and b_side.ahead)
    return replace(module, kernels=(replace(kernel, ahead=ahead),))


def shared(name: str, p: Contraction, point: Warpgroups) -> Module:
    """A product as one kernel, of which a cluster shares the sum of each tile."""
    a_side, b_side = point.sides(p)
    stages, slices = point.stages, point.slices
    turns, wide = cdiv(a_side.turns, slices), sum_type(p)
    bias_type = operand_type(p.bias, p.c)

    with script_module():
        keep = keeping(point)
        add = add_pile(p, point.block, point.consumers, slices, wide)

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
            ring = Ring(point, held_a, held_b, shared_tensor(u64, (2, stages)))
            number, share = blockIdx.x // slices, blockIdx.x % slices
            ring.begin(order, number, share * turns, turns)
            tile = order.tile(number)
            if threadIdx.x < point.consumers:
                sums = register_tensor(wide, point.columns // 2)
                ring.consume(sums, 0, turns)
                keep(sums, pile)
            elif threadIdx.x == point.consumers:
                ring.produce(tile, share * turns, 0, turns)
            syncwarp()
            cluster_sync()
            if threadIdx.x < point.consumers:
                add(pile, bias, c, tile.z, share, tile.top, tile.left)
            # A block's shared memory goes with it: it stays until all others have read there.
            cluster_sync()

    return bringing_ahead(assemble(name, [product], names_of(p), ["c"]), b_side)
