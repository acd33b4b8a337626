"""A graph that fails made as small as it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hidet.errors import HidetError
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import reading
from hidet.graph.tensor import Tensor
from hidet.testing.fuzz.cases import Array, Case
from hidet.testing.fuzz.judge import Verdict
from hidet.testing.fuzz.values import Values


def shrunk(verdict: Verdict, judge: Callable[[Case], Verdict], tries: int = 60) -> Verdict:
    """The verdict on a smaller case that fails in the same way, found in so many tries."""
    left = tries
    while True:
        for smaller in simpler(verdict.case):
            if not left:
                return verdict
            left -= 1
            found = judge(smaller)
            if found.kind == verdict.kind:
                verdict = found
                break
        else:
            return verdict


def simpler(case: Case) -> Iterator[Case]:
    """The case with fewer outputs, without its last operators, or without its first ones."""
    graph = case.graph
    if len(graph.results) > 1:
        for each in dict.fromkeys(graph.results):
            yield with_outputs(case, [each])
    for each in graph.results:
        if each.trace is not None:
            before = [t for t in each.trace[0].inputs if t.storage is None]
            others = [t for t in graph.results if t is not each]
            if before or others:
                yield with_outputs(case, list(dict.fromkeys([*others, *before])))
    if len(case.calls) > 1:
        yield from (replace(case, calls=(call,)) for call in case.calls)
    for node in reversed(graph.nodes[:-1]):
        for tensor in node.outputs if node.inputs else ():
            try:
                yield with_input(case, tensor)
            except HidetError:  # its shape cannot be an input's
                continue


def with_outputs(case: Case, outputs: Sequence[Tensor]) -> Case:
    """The part of the graph that gives these outputs."""
    size_sources = case.graph.size_sources.values()
    return without_unread(case, case.graph.with_outputs([*outputs, *size_sources]), case.calls)


def with_input(case: Case, tensor: Tensor) -> Case:
    """The graph with one tensor given instead of computed."""
    fresh = Tensor(tensor.type, tensor.device)
    new = {tensor: fresh}
    for node in case.graph.nodes:
        current = reading(node, tuple(new.get(each, each) for each in node.inputs))
        for old, made in zip(node.outputs, current.outputs, strict=True):
            new.setdefault(old, made)
    graph = case.graph
    outputs = [new.get(each, each) for each in graph.results if each is not tensor]
    if not outputs:
        raise HidetError("nothing is left")
    size_sources = [new.get(each, each) for each in graph.size_sources.values()]
    calls = []
    for call in case.calls:
        given = dict(zip(graph.inputs, call, strict=True))
        values = Values(given, size_sources=graph.size_sources)
        values.work_out([tensor])
        calls.append((*call, np.asarray(values.exact[tensor]).astype(tensor.dtype.numpy)))
    smaller = graph.with_outputs([*outputs, *size_sources], [*graph.inputs, fresh])
    return without_unread(case, smaller, tuple(calls))


def without_unread(case: Case, graph: FlowGraph, calls: Sequence[tuple[Array, ...]]) -> Case:
    """The case without inputs that nothing reads."""
    read = {each for node in graph.nodes for each in node.inputs} | set(graph.outputs)
    kept = [place for place, each in enumerate(graph.inputs) if each in read]
    smaller = graph.with_outputs(graph.outputs, [graph.inputs[place] for place in kept])
    return Case(case.seed, smaller, tuple(tuple(call[p] for p in kept) for call in calls))
