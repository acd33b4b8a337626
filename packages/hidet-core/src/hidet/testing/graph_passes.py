"""What tests of graph passes compare: graphs as short text, the operators in them, their values."""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np

from hidet.graph import FlowGraph, Tensor, evaluate, from_numpy
from hidet.testing.graphs import arrays_for


def lines(graph: FlowGraph) -> list[str]:
    """The graph's lines, without types and attributes."""
    shown = graph.show().splitlines()[1:-1]
    plain = (re.sub(r": \w+\[[^]]*\]\[\w+\]|, \w+=(\([^)]*\)|[^,)]*)", "", line) for line in shown)
    return [line.strip() for line in plain]


def kinds(graph: FlowGraph) -> list[str]:
    """The operators' names in order."""
    return [node.op.name for node in graph.nodes]


def same_value(a: FlowGraph, b: FlowGraph, tolerance: float = 1e-12) -> None:
    """Assert that two graphs of the same inputs give the same, in float64."""
    arrays = arrays_for(a)
    for x, y in zip(evaluate(a, *arrays), evaluate(b, *arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def weight(*shape: int, low: float = -1.0, high: float = 1.0) -> Tensor:
    """A float32 constant between `low` and `high`, the same for each shape at every run."""
    random = np.random.default_rng(crc32(repr((shape, low, high)).encode()))
    return from_numpy(random.uniform(low, high, shape).astype(np.float32))
