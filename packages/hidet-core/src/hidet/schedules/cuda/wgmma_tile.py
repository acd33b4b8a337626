"""Contractions by warpgroups (sm_90a): kernels around the ring of `wgmma_ring.py`.

Blocks stay and take tiles of the result in turns, in an order in which those under way at once
share rows and columns in the second cache. Where there are too few tiles, the blocks of a cluster
share the sum over k of one, as in `tile.py`.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
# mypy: disable-error-code="comparison-overlap, call-overload, assignment"
from dataclasses import replace

from hidet.ir.kernel import Module
from hidet.lang import (
    ScriptFunction,
    attr,
    cdiv,
    maximum,
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
    setmaxnreg_dec,
    setmaxnreg_inc,
    syncwarp,
    threadIdx,
)
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import After
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.pile import add_pile, pile_shape
from hidet.schedules.cuda.warpgroups import FEW, MANY, Warpgroups, sum_type
from hidet.schedules.cuda.wgmma_operand import Operand
from hidet.schedules.cuda.wgmma_ring import beginning, consuming, producing
from hidet.schedules.cuda.wgmma_staging import staging_shape
from hidet.schedules.cuda.wgmma_write import biasing, keeping, writing
from hidet.target import WARP, Target
from hidet.types import u64

GROUP = 8
"""Rows of tiles that blocks go down before they go on to the next column."""


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
        position, consume = order(p, point), consuming(point, a_side, b_side)
        begin, rest = beginning(point, a_side, b_side, position), bringing(p, point, a_side, b_side)
        bring, finish = biasing(p, point.columns), writing(p, point.columns, early, after)

        @script
        def product(a: p.a, b: p.b, bias: bias_type, c: p.c) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = minimum(tiles, seats)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = point.resident(p, target)
            boxes_a, boxes_b = a_side.map(a), b_side.map(b)
            tiles_a = shared_tensor(p.a.dtype, (stages, *a_side.tile), a_side.layout(stages))
            tiles_b = shared_tensor(p.b.dtype, (stages, *b_side.tile), b_side.layout(stages))
            staged = shared_tensor(p.c.dtype, staging_shape(warps))
            bars = shared_tensor(u64, (2, stages))
            begin(bars, boxes_a, boxes_b, tiles_a, tiles_b, blockIdx.x, 0, turns)
            if threadIdx.x < point.consumers:
                if point.borrows:
                    setmaxnreg_inc(MANY)
                sums = register_tensor(wide, point.columns // 2)
                count = 0
                for tile in range(blockIdx.x, tiles, gridDim.x):
                    z, top, left = position(tile)
                    if early:
                        ahead = register_tensor(p.c.dtype, (point.columns // 8, 2))
                        bring(bias, ahead, z, top, left)
                        consume(tiles_a, tiles_b, bars, sums, count, turns)
                        finish(sums, staged, ahead, c, z, top, left)
                    else:
                        consume(tiles_a, tiles_b, bars, sums, count, turns)
                        finish(sums, staged, bias, c, z, top, left)
                    count += turns
            else:
                rest(boxes_a, boxes_b, tiles_a, tiles_b, bars)

    made = bringing_ahead(assemble(name, [product], names_of(p), ["c"]), b_side)
    (kernel,) = made.kernels
    launch = replace(kernel.launch, lets_next=point.lets_next(p, target))
    made = replace(made, kernels=(replace(kernel, launch=launch),))
    return loading_early(made, "bias") if early else made


def bringing(p: Contraction, point: Warpgroups, a_side: Operand, b_side: Operand) -> ScriptFunction:
    """A part of a kernel, for the threads that do not multiply: (map of a, of b, tiles of a, of b,
    barriers). They have the tiles of all that the block sums up brought."""
    turns, tiles = a_side.turns, point.tiles(p)
    position, produce = order(p, point), producing(point, a_side, b_side)

    @script
    def rest(boxes_a, boxes_b, tiles_a, tiles_b, bars):  # type: ignore[no-untyped-def]
        if point.borrows:
            setmaxnreg_dec(FEW)
        if threadIdx.x == point.consumers:
            count = 0
            for tile in range(blockIdx.x, tiles, gridDim.x):
                z, top, left = position(tile)
                produce(boxes_a, boxes_b, tiles_a, tiles_b, bars, z, top, left, 0, count, turns)
                count += turns

    return rest


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
        position, produce = order(p, point), producing(point, a_side, b_side)
        begin = beginning(point, a_side, b_side, position)
        consume, keep = consuming(point, a_side, b_side), keeping(point)
        add = add_pile(p, point.block, point.consumers, slices, wide)

        @script
        def product(a: p.a, b: p.b, bias: bias_type, c: p.c) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = point.tiles(p) * slices
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (slices, 1, 1)
            attr.cuda_min_blocks = 1
            boxes_a, boxes_b = a_side.map(a), b_side.map(b)
            tiles_a = shared_tensor(p.a.dtype, (stages, *a_side.tile), a_side.layout(stages))
            tiles_b = shared_tensor(p.b.dtype, (stages, *b_side.tile), b_side.layout(stages))
            pile = shared_tensor(wide, pile_shape(point.block, wide))
            bars = shared_tensor(u64, (2, stages))
            number, share = blockIdx.x // slices, blockIdx.x % slices
            begin(bars, boxes_a, boxes_b, tiles_a, tiles_b, number, share * turns, turns)
            z, top, left = position(number)
            if threadIdx.x < point.consumers:
                sums = register_tensor(wide, point.columns // 2)
                consume(tiles_a, tiles_b, bars, sums, 0, turns)
                keep(sums, pile)
            elif threadIdx.x == point.consumers:
                first = share * turns
                produce(boxes_a, boxes_b, tiles_a, tiles_b, bars, z, top, left, first, 0, turns)
            syncwarp()
            cluster_sync()
            if threadIdx.x < point.consumers:
                add(pile, bias, c, z, share, top, left)
            # A block's shared memory goes with it: it stays until all others have read there.
            cluster_sync()

    return bringing_ahead(assemble(name, [product], names_of(p), ["c"]), b_side)


def order(p: Contraction, point: Warpgroups) -> ScriptFunction:
    """A part of a kernel: the number of a tile to (z, first row, first column).

    Tiles go down a few rows before they go on to the next column. That no tile is beyond the last
    row and column is said, where it cannot be seen: whole tiles are written without conditions.
    """
    rows, columns = point.block
    down, across = point.grid(p)

    @script
    def position(tile):  # type: ignore[no-untyped-def]
        number = tile % (down * across)
        first = number // (GROUP * across) * GROUP
        height = maximum(minimum(GROUP, down - first), 1)
        within = number % (GROUP * across)
        row = minimum(first + within % height, down - 1)
        column = minimum(within // height, across - 1)
        return tile // (down * across), row * rows, column * columns

    return position
