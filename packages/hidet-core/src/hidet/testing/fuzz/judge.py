"""Graphs compiled and run, fused and not, rounded in between and not, and compared with float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidet.build.compiled import CompiledGraph, build_graph
from hidet.errors import HidetError
from hidet.graph import FlowGraph, Tensor, asarray
from hidet.options import options
from hidet.runtime.plans.archive import read
from hidet.testing.fuzz.cases import Case
from hidet.testing.fuzz.values import Values, epsilon, least

Array = np.ndarray[Any, Any]
DRAWS = 4
TIMES = 8.0
"""How much further than the noise of a few draws a correct result may be off."""
UNITS = 16.0
"""Units in the last place of a typical value by which any result may be off."""
WAYS = {
    "fused": {"fusion": True},
    "fused, rounded": {"fusion": True, "round_each": True},
    "unfused": {"fusion": False},
}
"""The options of each way to compute a graph."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong with how a graph was computed; `kind` is empty if nothing is."""

    case: Case
    kind: str = ""
    problem: str = ""


def judged(cases: Sequence[Case], target: str = "") -> list[Verdict]:
    """Each case compiled for `target` in all ways, several in one compilation, run, and compared.

    By default the target is that of the cases' device; "sim" runs them in the simulator.
    """
    found = {case.seed: Verdict(case) for case in cases}
    for way in WAYS:
        left = [case for case in cases if not found[case.seed].kind]
        # Data-dependent sizes have the same names in all graphs.
        alone = [[case] for case in left if case.graph.data_sizes]
        for group in (*alone, [case for case in left if not case.graph.data_sizes]):
            for verdict in attempted(group, way, target):
                found[verdict.case.seed] = verdict
    return list(found.values())


def attempted(cases: Sequence[Case], way: str, target: str) -> Iterator[Verdict]:
    """Verdicts on one way of computing; where several fail together, each is tried alone."""
    if not cases:
        return
    try:
        results = computed(cases, WAYS[way], target)
    except Exception as error:  # whatever a compiler may raise is what is looked for
        if len(cases) > 1:
            for case in cases:
                yield from attempted([case], way, target)
            return
        text = error.message if isinstance(error, HidetError) else str(error)
        yield Verdict(cases[0], f"{way}: {type(error).__name__}", text)
        return
    for case, calls in zip(cases, results, strict=True):
        problem = differences(case, calls)
        yield Verdict(case, f"{way}: wrong" if problem else "", problem)


def computed(
    cases: Sequence[Case], settings: Mapping[str, bool], target: str
) -> list[list[list[Array]]]:
    """For each case, for each call, its outputs, under options."""
    whole = together([case.graph for case in cases])
    with options(target=target, progress=False, **settings):
        compiled = reloaded(build_graph(whole))
        calls = [
            outputs(compiled, whole, [each for case in cases for each in case.arrays(call)])
            for call in range(max(len(case.calls) for case in cases))
        ]
    found: list[list[list[Array]]] = []
    start = 0
    for case in cases:
        stop = start + len(case.graph.results)
        found.append([each[start:stop] for each in calls[: len(case.calls)]])
        start = stop
    return found


def together(graphs: Sequence[FlowGraph]) -> FlowGraph:
    """Several graphs as one; one alone as it is."""
    if len(graphs) == 1:
        return graphs[0]
    inputs = [each for graph in graphs for each in graph.inputs]
    return FlowGraph(inputs, [each for graph in graphs for each in graph.results], "fuzz")


def reloaded(compiled: CompiledGraph) -> CompiledGraph:
    """The compiled graph as a file of it is read: that has to be the same."""
    return CompiledGraph(read(compiled.archive.to_bytes(), "fuzz"), compiled.device)


def outputs(compiled: Any, graph: FlowGraph, arrays: Sequence[Array]) -> list[Array]:
    """The outputs of one call as arrays."""
    given = [asarray(a, device=t.device) for a, t in zip(arrays, graph.inputs, strict=True)]
    return [each.cpu().numpy().copy() for each in compiled.run(given)]


def differences(case: Case, calls: Sequence[Sequence[Array]]) -> str:
    """The first output that is too far from float64; nothing if there is none."""
    for number, found in enumerate(calls):
        given = dict(zip(case.graph.inputs, case.arrays(number), strict=True))
        with np.errstate(all="ignore"):
            values = Values(given, DRAWS, size_sources=case.graph.size_sources)
            values.work_out(case.graph.outputs)
        for place, (tensor, array) in enumerate(zip(case.graph.results, found, strict=True)):
            problem = difference(values, tensor, array)
            if problem:
                return f"output {place} of call {number}: {problem}"
    return ""


def difference(values: Values, tensor: Tensor, found: Array) -> str:
    """What is wrong with an output; nothing if it is close enough."""
    if tensor not in values.exact:
        values.give(tensor, tensor.cpu().numpy())  # an output that is a constant
    exact = values.exact[tensor]
    if found.shape != exact.shape:
        return f"its shape is {found.shape}, not {exact.shape}"
    if not tensor.dtype.is_float:
        away = np.abs(found.astype(np.float64) - exact)
        limit = np.zeros(())
    else:
        with np.errstate(invalid="ignore"):  # of infinities
            away, limit = np.abs(found.astype(np.float64) - exact), allowed(values, tensor)
    wrong = ~((away <= limit) | (found == exact))  # infinities are equal, and no number apart
    if not wrong.any():
        return ""
    at = np.unravel_index(
        int(np.argmax(np.where(wrong, np.nan_to_num(away, nan=np.inf), -1))), away.shape
    )
    place = tuple(map(int, at))
    return (
        f"{int(wrong.sum())} of {wrong.size} elements; {found[at]} instead of {exact[at]} at "
        f"{place}, where {float(np.broadcast_to(limit, away.shape)[at]):.3g} is allowed"
    )


def allowed(values: Values, tensor: Tensor) -> Array:
    """How far each element of an output may be off."""
    exact = values.exact[tensor]
    noise = max((np.abs(draw - exact).max(initial=0.0) for draw in values.noisy[tensor]), default=0)
    typical = np.sqrt(np.mean(np.square(exact))) if exact.size else 0.0
    units = UNITS * epsilon(tensor.dtype) * (typical + np.abs(exact))
    return np.asarray(TIMES * noise + units + least(tensor.dtype))
