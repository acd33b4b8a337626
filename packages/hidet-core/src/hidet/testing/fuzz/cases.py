"""Whole graphs made at random, with values for their inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from hidet.errors import HidetError, InternalError
from hidet.graph import FlowGraph, Tensor, trace_from
from hidet.graph.apply import tracing
from hidet.graph.dims import size_symbol
from hidet.graph.flow import sorted_nodes
from hidet.ir.expr import Var
from hidet.testing.fuzz import (
    blocks,
    branches,
    contractions,
    control,
    elementwise,
    moves,
    ordering,
    selected,
    spelled,
)
from hidet.testing.fuzz.pool import SIZES, Pool, Unfit
from hidet.testing.fuzz.values import Values
from hidet.types import DType, Size, bf16, f16, f32, f64

Array = np.ndarray[Any, Any]
Maker = Callable[[Pool], Sequence[Tensor]]
Makers = Sequence[tuple[int, Maker]]
"""What a step may be, each with how likely it is."""
MAKERS: Makers = (
    (6, elementwise.smooth), (7, elementwise.paired), (2, elementwise.chosen),
    (1, elementwise.converted), (1, elementwise.decided), (2, elementwise.compared),
    (1, elementwise.whole), (2, elementwise.logical),
    (3, moves.reshaped), (3, moves.permuted), (1, moves.turned), (2, moves.sliced),
    (2, moves.divided), (2, moves.joined), (2, moves.enlarged), (1, moves.triangle),
    (2, moves.gathered), (1, moves.replaced),
    (3, contractions.product), (1, contractions.contraction_of_products), (3, contractions.layer),
    (3, contractions.convolution), (1, contractions.transposed_convolution),
    (2, contractions.pooled),
    (4, blocks.reduced), (2, blocks.deviation), (1, blocks.decided), (2, blocks.soft),
    (1, blocks.running), (3, blocks.normed), (1, blocks.spelled_attention),
    (1, blocks.whole_attention), (1, blocks.gated), (1, blocks.merged_matmuls), (1, blocks.rotary),
    (1, blocks.convolved), (1, blocks.windowed),
    (2, ordering.ranked), (1, ordering.running), (2, ordering.scattered), (1, ordering.jumping),
    (1, ordering.counted),
    (2, branches.parted), (2, branches.stream), (1, branches.masked_attention),
    (2, branches.measured), (2, spelled.attention), (2, spelled.norm), (1, spelled.gated),
    *control.MAKERS,
)  # fmt: skip
TYPES: tuple[DType, ...] = (f32, f32, f32, f16, f16, bf16, bf16, f64)
DYNAMIC = 0.2
"""How many graphs have sizes that a call brings."""
DATA_SIZES = 0.25
"""How many of the graphs with regions have data-dependent sizes."""
TRIES = 12
WEIGHTED = frozenset({"conv", "linear", "matmul"})
"""Operators whose second operand is a weight in most models."""
STEPS = (2, 9)
REGION_STEPS = (1, 5)
"""The least and the most operators or blocks of a graph; those with regions have bodies too."""


@dataclass(frozen=True)
class Case:
    """A graph with the inputs of its calls, which may differ in sizes."""

    seed: int
    graph: FlowGraph
    calls: tuple[tuple[Array, ...], ...]

    def arrays(self, call: int) -> tuple[Array, ...]:
        """The inputs of a call; cases with fewer calls begin again."""
        return self.calls[call % len(self.calls)]


def random_case(
    seed: int,
    device: str = "cpu",
    largest: int = 4096,
    types: Sequence[DType] = TYPES,
    dynamic: float = DYNAMIC,
    regions: bool = False,
) -> Case:
    """The graph of a number: always the same one; no tensor has more than `largest` elements.

    New tensors are of one of `types`. So many of all graphs as `dynamic` says are called twice,
    with different sizes. With `regions` each has control flow, and some have data-dependent sizes.
    """
    random = Random(seed)
    grows = random.random() < dynamic
    n = size_symbol(f"n{seed}")  # graphs that are compiled together have sizes of their own
    sizes = [{n: random.choice(SIZES)} for _ in range(2)] if grows else [{}]
    pool = Pool(random, random.choice(types), device, largest, sizes[0])
    with tracing():  # what has only constants is folded by the compiler, not here
        begin(pool, n if grows else None)
        for makers in plan(random, regions):
            grow(pool, makers)
    ends = outputs(pool, 1.0 if regions else 0.7)
    graph = trace_from(ends, [each.tensor for each in pool.sources])
    # Other data tell other sizes.
    sizes += sizes if graph.data_sizes and not grows else []
    calls = [
        tuple(each.array(call, known) for each in pool.sources) for call, known in enumerate(sizes)
    ]
    return Case(seed, graph, (calls[0], *(each for each in calls[1:] if is_sound(graph, each))))


def plan(random: Random, regions: bool) -> list[Makers]:
    """What each step of a graph may be."""
    if not regions:
        return [MAKERS] * random.randint(*STEPS)
    steps = [MAKERS] * random.randint(*REGION_STEPS)
    if random.random() < DATA_SIZES:
        steps.insert(random.randint(0, len(steps)), selected.MAKERS)
    steps.insert(random.randint(0, len(steps)), control.MAKERS)
    return steps


def is_sound(graph: FlowGraph, arrays: Sequence[Array]) -> bool:
    """Whether a call means something: what is empty has no greatest element."""
    if not graph.data_sizes:
        return True
    given = dict(zip(graph.inputs, arrays, strict=True))
    values = Values(given, size_sources=graph.size_sources)
    try:
        with np.errstate(all="ignore"):
            values.work_out(graph.outputs)
    except (HidetError, ValueError):  # numpy's word for it
        return False
    found = [values.exact[each] for each in graph.results if each.storage is None]
    return all(np.isfinite(each).all() for each in found)


def features(graph: FlowGraph) -> set[str]:
    """What of a graph is counted: sizes that a call brings or that data tell, and products whose
    weights come from outside."""
    found = {"sizes of calls"} if graph.symbols else set()
    found |= {"data-dependent sizes"} if graph.data_sizes else set()
    given = set(graph.inputs)
    weights = (node.inputs[1] for node in graph.nodes if node.op.name in WEIGHTED)
    return found | ({"weights from outside"} if not given.isdisjoint(weights) else set())


def outputs(pool: Pool, often: float) -> list[Tensor]:
    """The last tensor, those that nothing reads so often, and sometimes any other."""
    nodes = sorted_nodes(pool.tensors, [each.tensor for each in pool.sources])
    read = {each for node in nodes for each in node.inputs}
    ends = [each for each in pool.tensors if each not in read and each.trace is not None]
    found = [pool.tensors[-1], *(each for each in ends[:-1] if pool.maybe(often))]
    return [*found, pool.random.choice(pool.tensors)] if pool.maybe(0.25) else found


def begin(pool: Pool, first: Var | None) -> None:
    """The first inputs: floats, and sometimes whole numbers."""
    rank = pool.random.choice((0, 1, 1, 2, 2, 3))
    most = (33, 33, 17, 8)[rank]
    shape: list[Size] = [pool.size(most) for _ in range(rank + 1)]
    if first is not None:
        shape[0] = first
    pool.accept([pool.new(shape)])
    pool.accept([elementwise.partner(pool, pool.tensors[0])] if pool.tensors else [])
    if pool.maybe(0.2):
        pool.accept([pool.positions(shape, 7)])
    if not pool.tensors:  # the first was too large
        pool.accept([pool.new([2, 3] if first is None else [first, 3])])


def grow(pool: Pool, makers: Makers) -> None:
    """One step more, if one of several tries fits."""
    weights = [weight for weight, _ in makers]
    for _ in range(TRIES):
        [(_, maker)] = pool.random.choices(makers, weights)
        before = len(pool.sources)
        try:
            if pool.accept(maker(pool)):
                return
        except InternalError:
            raise
        except (Unfit, HidetError):  # it does not fit these shapes
            pass
        del pool.sources[before:]
