"""Matmuls that produce (`producer.py`) or consume (`consumer.py`) normalisation statistics.

With both, a norm between two matmuls needs no kernel of its own. By warpgroups (sm_90a).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from hidet.compute.strides import StridedView
from hidet.lang import Global, Shared
from hidet.ops.reductions.partial_statistics import LinearMoments, NormedLinear, OfRows, runs_of
from hidet.schedules.assemble import assemble, marked, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.normed.consumer import ConsumerEpilogue
from hidet.schedules.cuda.normed.producer import (
    RUN_THREADS,
    AddedOperands,
    SplitProducerEpilogue,
    WholeProducerEpilogue,
    steps_of,
)
from hidet.schedules.cuda.normed.statistics import Statistics
from hidet.schedules.cuda.warpgroups.epilogue import TileEpilogue
from hidet.schedules.cuda.warpgroups.matmul import MatrixWarpgroups, by_wgmma
from hidet.schedules.cuda.warpgroups.matrix import Matrix
from hidet.schedules.cuda.warpgroups.pair_epilogue import epilogue_of
from hidet.schedules.cuda.warpgroups.tile import Tensors, by_warpgroups
from hidet.schedules.product import Product
from hidet.target import Target
from hidet.types import TensorType

WIDEST = 128
"""Columns up to which a thread has registers for a residual and its accumulators."""
WIDEST_NORMED = 192
"""The same for what belongs to columns alone."""

EARLY = "residual", "bias", "residual_gain", "gain"
"""The operands that are prefetched, as kernels call them."""
RESULTS = "c", "moments", "scaled"
"""The results, as kernels call them; the last one only where a gain asks for it."""


@lru_cache(maxsize=1024)
def rows_product(op: OfRows) -> Product:
    """The product that an operator asks for."""
    c, (n, k) = op.results()[0], op.sizes()
    return Product(op.x, op.weight, op.bias, c, (), op.x.shape[:-1], n, k, True, op.transpose_b)


class SoleTiles(MatrixWarpgroups):
    """Tiles of blocks that are alone on a multiprocessor, where threads have registers for the
    operands of the epilogue."""

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether there is room, for one block on a multiprocessor."""
        return super().fits_on(p, target) and self.resident(p, target) == 1

    def form(self, op: OfRows) -> Product:
        """The product of rows with a weight."""
        return rows_product(op)


class ProducerTiles(SoleTiles):
    """Tiles of a matmul that produces statistics. With split-K a block has less to add."""

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether threads have registers for what they add."""
        widest = WIDEST if self.slices < 4 else 2 * WIDEST
        return self.columns <= widest and super().fits_on(p, target)

    def cycles(
        self, p: Contraction, target: Target, tiles: int, together: int
    ) -> tuple[float, float]:
        """As for other matmuls; without split-K a block runs the whole epilogue of its tile."""
        cycles, after = super().cycles(p, target, tiles, together)
        statistics = target.measured.wgmma.statistics if self.slices == 1 else 0
        return cycles + statistics, after + statistics


class ConsumerTiles(SoleTiles):
    """Tiles of a matmul that consumes statistics; each tile is one block's."""

    def fits_on(self, p: Contraction, target: Target) -> bool:
        """Whether threads have registers for what belongs to columns."""
        narrow = self.columns <= WIDEST_NORMED and not self.reallocates
        return narrow and self.slices == 1 and super().fits_on(p, target)


def by_warpgroups_of(op: OfRows, target: Target) -> bool:
    """Whether warpgroups may multiply these."""
    return by_wgmma(rows_product(op), target)


def view_of(op: OfRows, place: int) -> StridedView:
    """How tensor maps see x, or the weight."""
    return Matrix(rows_product(op), place == 0, 64).view


@schedule_for(
    LinearMoments,
    target="cuda",
    space=ProducerTiles,
    when=by_warpgroups_of,
    without_prologue=(0, 1),
    view=view_of,
)
def linear_moments_wgmma(op: LinearMoments, target: Target, point: ProducerTiles) -> Scheduled:
    """Tiles of the matmul by warpgroups, and statistics of their runs."""
    p, columns, split = rows_product(op), point.columns, point.slices > 1

    def end(of: Tensors, staged: Any) -> Any:
        added = AddedOperands(op, of["residual"], of["bias"], of["residual_gain"], of["gain"])
        known = p, runs_of(p.n), op.eps, of["residual_moments"]
        if split:
            statistics = Statistics(*known, steps_of(point), RUN_THREADS)
            common = p, added, statistics, of["moments"]
            return SplitProducerEpilogue(*common, point, of["c"], of["scaled"])
        to_c, to_scaled = (written_as(p, staged, of[each], columns) for each in ("c", "scaled"))
        common = p, added, Statistics(*known), of["moments"]
        return WholeProducerEpilogue(*common, columns, to_c, to_scaled)

    kernel = by_warpgroups(op.name, p, point, target, types_of(op, p), end)
    made = assemble(op.name, [kernel], names_of(op), RESULTS[: len(op.results())])
    early = ("residual_moments", *EARLY) if split else EARLY
    return Scheduled(marked(made, early=early, ahead=point.ahead(p)), point)


def types_of(op: LinearMoments, p: Product) -> dict[str, TensorType]:
    """The types of operands and results, by what the kernels call them."""
    moments = op.results()[1]
    return {
        "bias": operand_type(p.bias, p.c),
        "residual": op.residual,
        "residual_moments": operand_type(op.residual_moments, moments),
        "residual_gain": operand_type(op.residual_gain, p.c),
        "gain": operand_type(op.gain, p.c),
        **{"c": p.c, "moments": moments, "scaled": p.c},
    }


@schedule_for(
    NormedLinear,
    target="cuda",
    space=ConsumerTiles,
    when=by_warpgroups_of,
    without_prologue=(0, 1),
    view=view_of,
)
def normed_linear_wgmma(op: NormedLinear, target: Target, point: ConsumerTiles) -> Scheduled:
    """Tiles of the matmul by warpgroups, normalised before they are written."""
    p, columns = rows_product(op), point.columns

    def end(of: Tensors, staged: Any) -> Any:
        statistics = Statistics(p, runs_of(p.k), op.eps, of["moments"])
        to_c = written_as(p, staged, of["c"], columns)
        return ConsumerEpilogue(op, columns, statistics, of["sums_of"], of["bias"], to_c)

    bias = operand_type(op.bias, p.c)
    tensors = {"moments": op.moments, "sums_of": op.sums, "bias": bias, "c": p.c}
    kernel = by_warpgroups(op.name, p, point, target, tensors, end)
    made = assemble(op.name, [kernel], names_of(op), ["c"])
    return Scheduled(marked(made, early=["sums_of", "bias"], ahead=point.ahead(p)), point)


def written_as(p: Product, staged: Shared, c: Global, columns: int) -> TileEpilogue:
    """How accumulators that have their bias are written."""
    return epilogue_of(staged, None, c, replace(p, bias=None), columns, None, None)


def names_of(op: OfRows) -> list[str]:
    """What the kernels call the operands that are there."""
    called = {"x": "a", "weight": "b", "sums": "sums_of"}
    return [called.get(each, each) for each in op.operand_labels()]
