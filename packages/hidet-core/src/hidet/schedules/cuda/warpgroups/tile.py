"""Contractions by warpgroups (sm_90a): the kernel around the pipeline of `ring.py`.

Blocks stay and take tiles of the result in turns (`loop.py`), in an order in which those
under way at once share rows and columns in the second cache; or those of a cluster share the sum
over k of a tile, where there are too few.
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
from hidet.schedules.cuda.warpgroups.barriers import pipeline_of
from hidet.schedules.cuda.warpgroups.groups import Warpgroups, sum_type
from hidet.schedules.cuda.warpgroups.lines import staging_shape
from hidet.schedules.cuda.warpgroups.loop import SharedSums, share_tile, take_tiles
from hidet.schedules.cuda.warpgroups.pairs import sums_to
from hidet.schedules.cuda.warpgroups.ring import Ring, held_by
from hidet.schedules.cuda.warpgroups.tile_order import Order
from hidet.target import WARP, Target
from hidet.types import TensorType

Tensors: TypeAlias = Mapping[str, Global]
"""A kernel's tensors beside a and b, by what it calls them."""


def by_warpgroups(
    name: str, p: Contraction, point: Warpgroups, target: Target,
    tensors: Mapping[str, TensorType], end: Callable[[Tensors, Any], Any],
) -> ScriptFunction:  # fmt: skip
    """The kernel of a contraction. `end`: the record that says what becomes of sums, which the tile
    loop asks; of the kernel's `tensors`, and the shared memory through which whole sums go."""
    (a_side, b_side), stages, wide = point.sides(p), point.stages, sum_type(p.a.dtype)
    tiles, beside = point.tiles(p), {each: Var(each, of) for each, of in tensors.items()}

    with script_module():

        @script(a=p.a, b=p.b, others=meta.types(beside.values()))
        def product(a: Global, b: Global, others: Any) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = point.blocks(p, target)
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = point.slices
            attr.cuda_min_blocks = point.resident(p, target)
            order = Order(point.block, *point.grid(p))
            held_a, held_b = held_by(a_side, a, stages), held_by(b_side, b, stages)
            if point.slices > 1:
                sums = shared_tensor(wide, partials_shape(point.block, wide))
                ring = Ring(point, held_a, held_b, pipeline_of(stages))
                partials = ClusterPartials(sums, point.block, point.consumers, point.slices)
                share_tile(ring, order, partials, end(beside, None))
            else:
                staged = shared_tensor(p.c.dtype, staging_shape(point.consumers // WARP))
                ring = Ring(point, held_a, held_b, pipeline_of(stages))
                take_tiles(ring, order, tiles, end(beside, staged))

    return product


def contraction(
    name: str,
    p: Contraction,
    point: Warpgroups,
    target: Target,
    after: AccumulatorEpilogue | None = None,
) -> Module:
    """A contraction as one kernel, with the epilogue `after` on its accumulators."""
    shared = point.slices > 1
    # Registers to hold the bias meanwhile are there where a block is alone.
    alone = not shared and point.resident(p, target) == 1
    early = p.c.dtype if p.bias is not None and alone else None

    def end(of: Tensors, staged: Any) -> Any:
        if shared:
            return SharedSums(Epilogue(p, of["bias"], of["c"]))
        return sums_to(staged, of["bias"], of["c"], p, point.columns, early, after)

    tensors = {"bias": operand_type(p.bias, p.c), "c": p.c}
    kernel = by_warpgroups(name, p, point, target, tensors, end)
    made = assemble(name, [kernel], names_of(p), ["c"])
    made = with_pdl_trigger(made, point.pdl_trigger(p, target))
    return marked(made, early=["bias"] if early else [], ahead=point.ahead(p))
