"""Matmuls around a norm that has no kernel of its own, by warpgroups (sm_90a).

They produce, or consume, partial normalisation statistics of their rows: `wgmma_moments.py` and
`wgmma_shares.py`, `wgmma_normed.py`.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="arg-type, name-defined, valid-type"
from dataclasses import replace
from functools import lru_cache

from hidet.cost import Work
from hidet.ir.kernel import Module
from hidet.lang import (
    Global,
    Shared,
    attr,
    cdiv,
    minimum,
    register_tensor,
    script,
    script_module,
    shared_tensor,
)
from hidet.lang.cuda import blockIdx, cluster_sync, gridDim, syncwarp, threadIdx
from hidet.ops.handed_norm import LinearMoments, NormedLinear, OfRows
from hidet.schedules.assemble import assemble, marked, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.barriers import pipeline_of
from hidet.schedules.cuda.lines import staging_shape
from hidet.schedules.cuda.matmul_wgmma import MatrixWarpgroups, by_wgmma
from hidet.schedules.cuda.pile import pile_shape
from hidet.schedules.cuda.tile_order import Order
from hidet.schedules.cuda.wgmma_moments import BLOCK, WholeRows
from hidet.schedules.cuda.wgmma_normed import bringing_columns, norming
from hidet.schedules.cuda.wgmma_pairs import sums_to
from hidet.schedules.cuda.wgmma_ring import Ring, held_by
from hidet.schedules.cuda.wgmma_shares import BESIDE, SharedRows
from hidet.schedules.cuda.wgmma_statistics import Statistics
from hidet.schedules.cuda.wgmma_write import Sums, keeping
from hidet.schedules.product import Product
from hidet.target import WARP, Target
from hidet.types import TensorType, f32

WIDEST = 128
"""Columns up to which a thread has registers for a residual beside its sums."""
WIDEST_NORMED = 192
"""The same for what belongs to columns alone."""

EARLY = "residual", "bias", "residual_gain", "gain"
"""What is under way while others sum up, as kernels call it."""


@lru_cache(maxsize=1024)
def rows_product(op: OfRows) -> Product:
    """The product that an operator asks for."""
    c, (n, k) = op.results()[0], op.sizes()
    return Product(op.x, op.weight, op.bias, c, (), op.x.shape[:-1], n, k, True, op.transpose_b)


class Alone(MatrixWarpgroups):
    """Tiles of blocks that are alone on a multiprocessor: what is done with the sums lies in
    registers, while others would multiply."""

    def fits_alone(self, op: OfRows, target: Target) -> bool:
        """Whether there is room, for one block on a multiprocessor."""
        p = rows_product(op)
        return self.fits_on(p, target) and self.resident(p, target) == 1

    def work(self, op: OfRows, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_on(rows_product(op), target)


class Handing(Alone):
    """Tiles of a matmul that produces statistics. With split-K a block has less to add."""

    def fits(self, op: OfRows, target: Target) -> bool:
        """Whether the point can be built for `op`."""
        widest = WIDEST if self.slices < 4 else 2 * WIDEST
        return self.columns <= widest and self.fits_alone(op, target)

    def cycles(
        self, p: Contraction, target: Target, tiles: int, together: int
    ) -> tuple[float, float]:
        """As for other matmuls; without split-K a block runs the whole epilogue of its tile."""
        cycles, after = super().cycles(p, target, tiles, together)
        settling = target.measured.wgmma.settling if self.slices == 1 else 0
        return cycles + settling, after + settling


class Norming(Alone):
    """Tiles of a product of normed rows: each is one block's, who knows the norms of its rows."""

    def fits(self, op: OfRows, target: Target) -> bool:
        """Whether the point can be built for `op`."""
        narrow = self.columns <= WIDEST_NORMED and not self.borrows
        return narrow and self.slices == 1 and self.fits_alone(op, target)


def handable(op: OfRows, target: Target) -> bool:
    """Whether warpgroups may multiply these."""
    return by_wgmma(rows_product(op), target)


@schedule_for(LinearMoments, target="cuda", space=Handing, when=handable, closed=(0, 1))
def linear_moments_wgmma(op: LinearMoments, target: Target, point: Handing) -> Scheduled:
    """Tiles of the matmul by warpgroups, and statistics of their runs."""
    made = handing_shared(op, point) if point.slices > 1 else handing(op, target, point)
    return Scheduled(made, point)


def handing(op: LinearMoments, target: Target, point: Handing) -> Module:
    """The product as one kernel, whose blocks take whole tiles in turns."""
    p, name = rows_product(op), op.name
    a_side, b_side = point.sides(p)
    stages, turns, tiles = point.stages, a_side.turns, point.tiles(p)
    bias_type, before_type, stretch_type, gain_type, moments_type = types_of(op, p)
    normed, asked = op.residual_gain is not None, op.gain is not None
    statistics = Statistics(p, moments_type.shape[-2], op.eps)
    rows = WholeRows(p, point.columns, normed)
    with script_module():
        bring, find = rows.bringing(), statistics.of_two_rows()
        settle, weigh, multiply = rows.settling(), rows.weighing(), rows.scaling()

        @script
        def product(
            a: p.a, b: p.b, bias: bias_type, residual: op.residual,
            residual_moments: before_type, residual_gain: stretch_type, gain: gain_type,
            c: p.c, moments: moments_type, scaled: p.c,
        ) -> None:  # fmt: skip
            attr.func_name = name
            attr.cuda_grid_dim = minimum(tiles, target.cores)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
            to_c = written_as(p, staged, c, point)
            to_scaled = written_as(p, staged, scaled, point)
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            ring.begin(order, blockIdx.x, 0, turns)
            if threadIdx.x < point.consumers:
                sums = register_tensor(f32, point.columns // 2)
                for number in range(blockIdx.x, tiles, gridDim.x):
                    tile = order.tile(number)
                    top, left = tile.top, tile.left
                    near = register_tensor(op.residual.dtype, (rows.blocks, 2, 2))
                    shift = register_tensor(bias_type.dtype, (rows.blocks, 2))
                    stretch = register_tensor(stretch_type.dtype, (rows.blocks, 2))
                    factor = register_tensor(gain_type.dtype, (rows.blocks, 2))
                    mean, scale = register_tensor(f32, (2,)), register_tensor(f32, (2,))
                    bring(residual, bias, residual_gain, near, shift, stretch, top, left)
                    if normed:
                        find(residual_moments, mean, scale, top)
                    ring.consume(sums, turns)
                    settle(near, shift, stretch, mean, scale, sums, moments, top, left)
                    if asked:
                        # No earlier: what is added has its registers until here.
                        weigh(gain, factor, left)
                    to_c.write(sums, None, tile)
                    if asked:
                        multiply(factor, sums)
                        to_scaled.write(sums, None, tile)
            else:
                ring.produce_all(order, tiles, turns)

    made = assemble(name, [product], names_of(op), results_of(op))
    return marked(made, early=EARLY, ahead=point.ahead(p))


def handing_shared(op: LinearMoments, point: Handing) -> Module:
    """The product as one kernel, of which a cluster shares the sum of each tile."""
    p, name = rows_product(op), op.name
    a_side, b_side = point.sides(p)
    stages, slices, turns = point.stages, point.slices, cdiv(a_side.turns, point.slices)
    bias_type, before_type, stretch_type, gain_type, moments_type = types_of(op, p)
    rows, statistics = shared_rows(op, p, point)
    with script_module():
        keep, bring = keeping(point), rows.bringing(statistics)
        settle = rows.settling(statistics)

        @script
        def product(
            a: p.a, b: p.b, bias: bias_type, residual: op.residual,
            residual_moments: before_type, residual_gain: stretch_type, gain: gain_type,
            c: p.c, moments: moments_type, scaled: p.c,
        ) -> None:  # fmt: skip
            attr.func_name = name
            attr.cuda_grid_dim = point.tiles(p) * slices
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (slices, 1, 1)
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            pile = shared_tensor(f32, pile_shape(point.block, f32))
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            share = blockIdx.x % slices
            number, first = blockIdx.x // slices, share * turns
            ring.begin(order, number, first, turns)
            tile = order.tile(number)
            top, left = tile.top, tile.left
            near = register_tensor(op.residual.dtype, rows.part)
            shift = register_tensor(bias_type.dtype, rows.part)
            stretch = register_tensor(stretch_type.dtype, rows.part)
            factor = register_tensor(gain_type.dtype, rows.part)
            held = register_tensor(f32, statistics.held)
            if threadIdx.x < point.consumers:
                bring(
                    residual, residual_moments, bias, residual_gain, gain,
                    near, held, shift, stretch, factor, share, top, left,
                )  # fmt: skip
                sums = register_tensor(f32, point.columns // 2)
                ring.consume(sums, turns)
                keep(sums, pile)
            elif threadIdx.x == point.consumers:
                ring.produce(tile, first, turns)
            syncwarp()
            cluster_sync()
            if threadIdx.x < point.consumers:
                settle(
                    pile, held, near, shift, stretch, factor, c, moments, scaled, share, top, left
                )
            # A block's shared memory goes with it: it stays until all others have read there.
            cluster_sync()

    made = assemble(name, [product], names_of(op), results_of(op))
    return marked(made, early=["residual_moments", *EARLY], ahead=point.ahead(p))


def shared_rows(op: LinearMoments, p: Product, point: Handing) -> tuple[SharedRows, Statistics]:
    """Rows of which a block of a cluster has a part, and their statistics."""
    normed, asked = op.residual_gain is not None, op.gain is not None
    rows = SharedRows(p, point.block, point.consumers, point.slices, normed, asked)
    runs = types_of(op, p)[-1].shape[-2]
    return rows, Statistics(p, runs, op.eps, rows.steps, BESIDE)


def types_of(op: LinearMoments, p: Product) -> tuple[TensorType, ...]:
    """The types in kernels of the bias, the residual's moments and gain, the gain, the moments."""
    moments = op.results()[1]
    before = operand_type(op.residual_moments, moments)
    of_columns = (operand_type(each, p.c) for each in (p.bias, op.residual_gain, op.gain))
    bias, stretch, gain = of_columns
    return bias, before, stretch, gain, moments


@schedule_for(NormedLinear, target="cuda", space=Norming, when=handable, closed=(0, 1))
def normed_linear_wgmma(op: NormedLinear, target: Target, point: Norming) -> Scheduled:
    """Tiles of the product by warpgroups, normed before they are written."""
    p, name = rows_product(op), op.name
    a_side, b_side = point.sides(p)
    stages, turns, tiles = point.stages, a_side.turns, point.tiles(p)
    bias_type = operand_type(op.bias, p.c)
    with script_module():
        find = Statistics(p, op.moments.shape[-2], op.eps).of_two_rows()
        load, norm = bringing_columns(op, point.columns), norming(op, point.columns)

        @script
        def product(
            a: p.a, b: p.b, moments: op.moments, sums_of: op.sums, bias: bias_type, c: p.c
        ) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = minimum(tiles, target.cores)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
            epilogue = written_as(p, staged, c, point)
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            ring.begin(order, blockIdx.x, 0, turns)
            if threadIdx.x < point.consumers:
                sums = register_tensor(f32, point.columns // 2)
                mean, scale = register_tensor(f32, (2,)), register_tensor(f32, (2,))
                for number in range(blockIdx.x, tiles, gridDim.x):
                    tile = order.tile(number)
                    top, left = tile.top, tile.left
                    weights = register_tensor(f32, (point.columns // BLOCK, 2))
                    shift = register_tensor(f32, (point.columns // BLOCK, 2))
                    load(sums_of, bias, weights, shift, left)
                    find(moments, mean, scale, top)
                    ring.consume(sums, turns)
                    norm(sums, mean, scale, weights, shift)
                    epilogue.write(sums, None, tile)
            else:
                ring.produce_all(order, tiles, turns)

    made = assemble(name, [product], names_of(op), ["c"])
    return Scheduled(marked(made, early=["sums_of", "bias"], ahead=point.ahead(p)), point)


def written_as(p: Product, staged: Shared, c: Global, point: Alone) -> Sums:
    """The end of a product whose bias is part of what its sums become before."""
    return sums_to(staged, None, c, replace(p, bias=None), point.columns, None, None)


def names_of(op: OfRows) -> list[str]:
    """What the kernels call the operands that are there."""
    called = {"x": "a", "weight": "b", "sums": "sums_of"}
    return [called.get(each, each) for each in op.operand_labels()]


def results_of(op: LinearMoments) -> list[str]:
    """What the kernels call the results that are asked for."""
    return ["c", "moments", "scaled"][: len(op.results())]
