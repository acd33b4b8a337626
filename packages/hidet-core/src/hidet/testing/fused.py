"""A graph as the compiler makes it, run group by group in the simulator, all passes done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hidet import sim
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.grouping import optimized, united
from hidet.build.choosing.schedule import implement
from hidet.build.planning.recipe import lanes_on, overlap_on
from hidet.fusion import Group, partition
from hidet.graph import FlowGraph, Op, Tensor, evaluate
from hidet.ir.kernel import Call, Module
from hidet.optimize import split
from hidet.passes.pipeline import lower
from hidet.target import Target
from hidet.testing.graphs import sizes

CUDA = Target.parse("sm_90a")


def groups_of(graph: FlowGraph, target: Target = CUDA) -> list[Group]:
    """The groups of an optimised graph that take a kernel, those of folded constants apart."""
    return groups_in(split(optimized(graph, target)).main, target)


def groups_in(main: FlowGraph, target: Target) -> list[Group]:
    """The groups of a graph as it is, with concatenations as kernels of their own."""

    def scheduled(op: Op) -> bool:
        return has_schedule(op, target)

    return united(partition(main, scheduled), main, scheduled, target)


def simulated(
    graph: FlowGraph, arrays: Sequence[Any], target: Target = CUDA
) -> list[np.ndarray[Any, Any]]:
    """The outputs of a graph whose sizes are known, optimised, fused and run by its kernels.

    What is folded before the first call is computed by the operators' references.
    """
    parts = split(optimized(graph, target))
    values: dict[Tensor, Any] = dict(zip(graph.inputs, arrays, strict=True))
    values |= {each: each.numpy() for each in parts.main.constants}
    if parts.prepare is not None:
        folded = zip(parts.derived, evaluate(parts.prepare), strict=True)
        values |= {t: np.ascontiguousarray(a, t.dtype.numpy).reshape(sizes(t)) for t, a in folded}
    for group in groups_in(parts.main, target):
        for made in implement(group, target):
            for each in made.group.results:
                values[each] = np.zeros(sizes(each), each.dtype.numpy)
            tensors = (*made.group.inputs, *made.group.results)
            sim.launch(as_run(made.module, target), *(values[each] for each in tensors))
    return [values[each] for each in parts.main.outputs]


def as_run(module: Module, target: Target = CUDA) -> Module:
    """A module with its kernels as they are launched: after all passes, with the sizes they use."""
    overlap, lanes = overlap_on(target), lanes_on(target)
    lowered = {each.name: lower(each, (), overlap, lanes) for each in module.kernels}

    def called(call: Call) -> Call:
        sizes = lowered[call.kernel].params[len(call.args) :]
        return replace(call, args=(*call.args, *sizes))

    calls = tuple(map(called, module.calls))
    return replace(module, kernels=tuple(lowered.values()), body=calls)
