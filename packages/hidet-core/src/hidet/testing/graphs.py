"""Values for the inputs of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet.graph import FlowGraph, Tensor


def arrays_for(graph: FlowGraph, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Standard normal values for the inputs of a graph."""
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(sizes(each)).astype(np.float32) for each in graph.inputs]


def sizes(x: Tensor) -> tuple[int, ...]:
    """The shape of a tensor whose sizes are all known."""
    return tuple(size for size in x.shape if isinstance(size, int))
