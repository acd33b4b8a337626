"""Functions of several operators on arrays: traced with their shapes, compiled, and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.graph import asarray, symbol, trace_from, tracing
from hidet.options import options


def traced(function: Callable[..., Any], *arrays: np.ndarray[Any, Any], target: str = "") -> Any:
    """What a function gives for arrays, compiled for this machine's CPU, or for a target."""
    inputs = [symbol(each.shape, each.dtype.name) for each in arrays]
    with tracing():
        graph = trace_from(function(*inputs), inputs)
    with options(target=target):
        found = graph(*map(asarray, arrays))
    return [each.numpy() for each in found] if isinstance(found, tuple) else found.numpy()
