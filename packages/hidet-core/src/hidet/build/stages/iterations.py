"""What bodies of control flow are given in one of their iterations, as references compute it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from hidet.graph.body import Body, Region
from hidet.graph.evaluate import evaluate, widened
from hidet.graph.flow import FlowGraph

Array = np.ndarray[Any, Any]


def given_to_bodies(
    op: Region, arrays: Sequence[Array], iteration: int
) -> list[tuple[str, Body, tuple[Array, ...]]]:
    """The bodies that run, by name, each with what it is given in `iteration`, counted from 0, or
    in its last one if there are fewer; `arrays` are the operands, sizes are known."""
    calls: dict[FlowGraph, tuple[Array, ...]] = {}
    times: Counter[FlowGraph] = Counter()

    def run(graph: FlowGraph, *given: Array) -> tuple[Array, ...]:
        if times[graph] <= iteration:
            calls[graph] = given
        times[graph] += 1
        return evaluate(graph, *given)

    wide = [widened(a, t.dtype) for a, t in zip(arrays, op.types(), strict=True)]
    with np.errstate(all="ignore"):
        op.follow(run, *op.arrange(wide))
    named = {body.graph: (name, body) for name, body in op.bodies().items()}
    return [(*named[graph], given) for graph, given in calls.items()]


def needs_framework(op: Region) -> bool:
    """Whether the framework runs a step of a body: no reference says what that computes."""
    nodes = [node.op for body in op.bodies().values() for node in body.graph.nodes]
    return any(
        each.kind == "framework" or (isinstance(each, Region) and needs_framework(each))
        for each in nodes
    )
