"""Contractions by warpgroups (sm_90a): the kernel around the pipeline of `operand_pipeline.py`.

The grid is persistent: blocks take one tile of the result after the other (`loop.py`), in an order
in which those under way at once share rows and columns in the L2 cache. Where there are too few
tiles, the blocks of a cluster divide k (split-K).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hidet.ir.expr import Var
from hidet.ir.kernel import Module
from hidet.lang import Global, ScriptFunction, attr, meta, script, script_module, shared_tensor
from hidet.schedules.assemble import assemble, marked, operand_type, with_pdl_trigger
from hidet.schedules.base import AccumulatorEpilogue
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.cluster_partials import ClusterPartials, partials_shape
from hidet.schedules.cuda.epilogue import Epilogue
from hidet.schedules.cuda.warpgroups.groups import Warpgroups, accumulator_type
from hidet.schedules.cuda.warpgroups.loop import SplitEpilogue, split_tile, take_tiles
from hidet.schedules.cuda.warpgroups.operand_pipeline import OperandPipeline, tiles_of
from hidet.schedules.cuda.warpgroups.pair_epilogue import epilogue_of
from hidet.schedules.cuda.warpgroups.pipeline import pipeline_of
from hidet.schedules.cuda.warpgroups.staged_store import staging_shape
from hidet.schedules.cuda.warpgroups.tile_order import Order
from hidet.target import WARP, Target
from hidet.types import TensorType

Tensors: TypeAlias = Mapping[str, Global]
"""A kernel's tensors beside a and b, by what it calls them."""


def by_warpgroups(
    name: str, p: Contraction, point: Warpgroups, target: Target,
    tensors: Mapping[str, TensorType], end: Callable[[Tensors, Any], Any],
) -> ScriptFunction:  # fmt: skip
    """The kernel of a contraction. `end` makes its epilogue, the record that the tile loop asks, of
    the kernel's `tensors` and of the shared memory through which whole tiles are written."""
    (a_side, b_side), stages, wide = point.sides(p), point.stages, accumulator_type(p.a.dtype)
    tiles, others_of = point.tiles(p), {each: Var(each, of) for each, of in tensors.items()}

    with script_module():

        @script(a=p.a, b=p.b, others=meta.types(others_of.values()))
        def product(a: Global, b: Global, others: Any) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = point.blocks(p, target)
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = point.slices
            attr.cuda_min_blocks = point.resident(p, target)
            order = Order(point.block, *point.grid(p))
            tiles_a, tiles_b = tiles_of(a_side, a, stages), tiles_of(b_side, b, stages)
            if point.slices > 1:
                sums = shared_tensor(wide, partials_shape(point.block, wide))
                pipeline = OperandPipeline(point, tiles_a, tiles_b, pipeline_of(stages))
                partials = ClusterPartials(sums, point.block, point.consumers, point.slices)
                split_tile(pipeline, order, partials, end(others_of, None))
            else:
                staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
                pipeline = OperandPipeline(point, tiles_a, tiles_b, pipeline_of(stages))
                take_tiles(pipeline, order, tiles, end(others_of, staged))

    return product


def contraction(
    name: str, p: Contraction, point: Warpgroups, target: Target,
    after: AccumulatorEpilogue | None = None,
) -> Module:  # fmt: skip
    """A contraction as one kernel, with the epilogue `after` on its accumulators."""
    split = point.slices > 1
    # Where a block is alone, threads have registers into which the bias is loaded early.
    alone = not split and point.resident(p, target) == 1
    early = p.c.dtype if p.bias is not None and alone else None

    def end(of: Tensors, staged: Any) -> Any:
        if split:
            return SplitEpilogue(Epilogue(p, of["bias"], of["c"]))
        return epilogue_of(staged, of["bias"], of["c"], p, point.columns, early, after)

    tensors = {"bias": operand_type(p.bias, p.c), "c": p.c}
    kernel = by_warpgroups(name, p, point, target, tensors, end)
    made = assemble(name, [kernel], names_of(p), ["c"])
    made = with_pdl_trigger(made, point.pdl_trigger(p, target))
    return marked(made, early=["bias"] if early else [], ahead=point.ahead(p))
