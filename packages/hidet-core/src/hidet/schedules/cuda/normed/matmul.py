"""Matmuls around a norm that has no kernel of its own, by warpgroups (sm_90a).

They produce, or consume, partial normalisation statistics of their rows: `moments.py` and
`shares.py`, `normed.py`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from hidet.compute.strides import StridedView
from hidet.ir.kernel import Module
from hidet.lang import Global, Shared, attr, minimum, script, script_module, shared_tensor
from hidet.ops.reductions.partial_statistics import LinearMoments, NormedLinear, OfRows, runs_of
from hidet.schedules.assemble import assemble, marked, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.cluster_partials import ClusterPartials, partials_shape
from hidet.schedules.cuda.normed.moments import Beside, MomentSums
from hidet.schedules.cuda.normed.normed import NormedSums
from hidet.schedules.cuda.normed.shares import BESIDE, SharedMoments, steps_of
from hidet.schedules.cuda.normed.statistics import Statistics
from hidet.schedules.cuda.warpgroups.barriers import pipeline_of
from hidet.schedules.cuda.warpgroups.lines import staging_shape
from hidet.schedules.cuda.warpgroups.loop import share_tile, take_tiles
from hidet.schedules.cuda.warpgroups.matmul import MatrixWarpgroups, by_wgmma
from hidet.schedules.cuda.warpgroups.matrix import Matrix
from hidet.schedules.cuda.warpgroups.pairs import sums_to
from hidet.schedules.cuda.warpgroups.ring import Ring, held_by
from hidet.schedules.cuda.warpgroups.tile_order import Order
from hidet.schedules.cuda.warpgroups.write import Sums
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

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether there is room, for one block on a multiprocessor."""
        return super().fits_on(p, target) and self.resident(p, target) == 1

    def form(self, op: OfRows) -> Product:
        """The product of rows with a weight."""
        return rows_product(op)


class Handing(Alone):
    """Tiles of a matmul that produces statistics. With split-K a block has less to add."""

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether threads have registers for what they add, too."""
        widest = WIDEST if self.slices < 4 else 2 * WIDEST
        return self.columns <= widest and super().fits_on(p, target)

    def cycles(
        self, p: Contraction, target: Target, tiles: int, together: int
    ) -> tuple[float, float]:
        """As for other matmuls; without split-K a block runs the whole epilogue of its tile."""
        cycles, after = super().cycles(p, target, tiles, together)
        unshared = target.measured.wgmma.unshared if self.slices == 1 else 0
        return cycles + unshared, after + unshared


class Norming(Alone):
    """Tiles of a product of normed rows: each is one block's, who knows the norms of its rows."""

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether threads have registers for what belongs to columns, too."""
        narrow = self.columns <= WIDEST_NORMED and not self.borrows
        return narrow and self.slices == 1 and super().fits_on(p, target)


def handable(op: OfRows, target: Target) -> bool:
    """Whether warpgroups may multiply these."""
    return by_wgmma(rows_product(op), target)


def view_of(op: OfRows, place: int) -> StridedView:
    """How tensor maps see x, or the weight."""
    return Matrix(rows_product(op), place == 0, 64).view


@schedule_for(
    LinearMoments, target="cuda", space=Handing, when=handable, closed=(0, 1), view=view_of
)
def linear_moments_wgmma(op: LinearMoments, target: Target, point: Handing) -> Scheduled:
    """Tiles of the matmul by warpgroups, and statistics of their runs."""
    made = handing_shared(op, point) if point.slices > 1 else handing(op, target, point)
    return Scheduled(made, point)


def handing(op: LinearMoments, target: Target, point: Handing) -> Module:
    """The product as one kernel, whose blocks take whole tiles in turns."""
    p, (a_side, b_side), stages = rows_product(op), point.sides(rows_product(op)), point.stages
    tiles, types = point.tiles(p), types_of(op, p)
    with script_module():

        @script(a=p.a, b=p.b, **types)
        def product(
            a: Global, b: Global, bias: Global, residual: Global, residual_moments: Global,
            residual_gain: Global, gain: Global, c: Global, moments: Global, scaled: Global,
        ) -> None:  # fmt: skip
            attr.func_name = op.name
            attr.cuda_grid_dim = minimum(tiles, target.cores)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
            beside = Beside(op, residual, bias, residual_gain, gain)
            statistics = Statistics(p, runs_of(p.n), op.eps, residual_moments)
            to_c = written_as(p, staged, c, point)
            to_scaled = written_as(p, staged, scaled, point)
            end = MomentSums(p, point.columns, beside, statistics, moments, to_c, to_scaled)
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            take_tiles(ring, order, tiles, end)

    made = assemble(op.name, [product], names_of(op), results_of(op))
    return marked(made, early=EARLY, ahead=point.ahead(p))


def handing_shared(op: LinearMoments, point: Handing) -> Module:
    """The product as one kernel, of which a cluster shares the sum of each tile."""
    p, (a_side, b_side), stages = rows_product(op), point.sides(rows_product(op)), point.stages
    types = types_of(op, p)
    with script_module():

        @script(a=p.a, b=p.b, **types)
        def product(
            a: Global, b: Global, bias: Global, residual: Global, residual_moments: Global,
            residual_gain: Global, gain: Global, c: Global, moments: Global, scaled: Global,
        ) -> None:  # fmt: skip
            attr.func_name = op.name
            attr.cuda_grid_dim = point.tiles(p) * point.slices
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (point.slices, 1, 1)
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            sums = shared_tensor(f32, partials_shape(point.block, f32))
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            beside = Beside(op, residual, bias, residual_gain, gain)
            known = p, runs_of(p.n), op.eps, residual_moments
            statistics = Statistics(*known, steps_of(point), BESIDE)
            end = SharedMoments(p, point, beside, statistics, c, moments, scaled)
            share_tile(
                ring, order, ClusterPartials(sums, point.block, point.consumers, point.slices), end
            )

    made = assemble(op.name, [product], names_of(op), results_of(op))
    return marked(made, early=["residual_moments", *EARLY], ahead=point.ahead(p))


def types_of(op: LinearMoments, p: Product) -> dict[str, TensorType]:
    """The types of operands and results, by what the kernels call them."""
    moments = op.results()[1]
    columns = {"bias": p.bias, "residual_gain": op.residual_gain, "gain": op.gain}
    return {
        **{name: operand_type(of, p.c) for name, of in columns.items()},
        **{"residual": op.residual, "residual_moments": operand_type(op.residual_moments, moments)},
        **{"c": p.c, "moments": moments, "scaled": p.c},
    }


@schedule_for(
    NormedLinear, target="cuda", space=Norming, when=handable, closed=(0, 1), view=view_of
)
def normed_linear_wgmma(op: NormedLinear, target: Target, point: Norming) -> Scheduled:
    """Tiles of the product by warpgroups, normed before they are written."""
    p, (a_side, b_side), stages = rows_product(op), point.sides(rows_product(op)), point.stages
    tiles, bias_type = point.tiles(p), operand_type(op.bias, p.c)
    with script_module():

        @script(a=p.a, b=p.b, moments=op.moments, sums_of=op.sums, bias=bias_type, c=p.c)
        def product(
            a: Global, b: Global, moments: Global, sums_of: Global, bias: Global, c: Global
        ) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = minimum(tiles, target.cores)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = 1
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
            to_c = written_as(p, staged, c, point)
            statistics = Statistics(p, runs_of(p.k), op.eps, moments)
            end = NormedSums(op, point.columns, statistics, sums_of, bias, to_c)
            ring = Ring(point, held_a, held_b, pipeline_of(stages))
            take_tiles(ring, order, tiles, end)

    made = assemble(op.name, [product], names_of(op), ["c"])
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
