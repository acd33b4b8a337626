"""Functions of tensors computed by the definitions of their operators, without the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.compute import evaluate
from hidet.graph import FlowGraph, from_numpy, symbol_like, tracing


def run(function: Callable[..., Any], *arrays: Any) -> Any:
    """The function's result for these arrays, or a list of its results, each operator in turn."""
    inputs = [symbol_like(from_numpy(np.asarray(each))) for each in arrays]
    with tracing():
        out = function(*inputs)
    results = tuple(out) if isinstance(out, tuple | list) else (out,)
    graph = FlowGraph(inputs, results)
    values: dict[Any, Any] = dict(zip(inputs, map(np.asarray, arrays), strict=True))
    values |= {each: each.cpu().numpy() for each in graph.constants}
    for node in graph.nodes:
        found = evaluate(node.op.definition(), *(values[each] for each in node.inputs))
        values.update(zip(node.outputs, found, strict=True))
    return values[results[0]] if len(results) == 1 else [values[each] for each in results]
