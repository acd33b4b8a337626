"""Host steps that work on numpy arrays, wherever the values lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hidet.errors import ShapeMismatch
from hidet.frontend.execute import HostStep, View
from hidet.runtime.device import on
from hidet.runtime.driver import call
from hidet.runtime.memory import array_of
from hidet.types import dtype

Arrays = Sequence[np.ndarray[Any, Any]]


def on_arrays(compute: Callable[[Arrays], Arrays], name: str) -> HostStep:
    """A step that computes on arrays; those of a GPU are copied to the host and back.

    ShapeMismatch if a result is not of the shape that was planned for it.
    """

    def step(reads: Sequence[View], writes: Sequence[View]) -> None:
        results = compute([array_of(view) for view in reads])
        for number, view in enumerate(writes):
            store(np.asarray(results[number]), view, name)

    return step


def store(result: np.ndarray[Any, Any], view: View, name: str) -> None:
    """Write a result where the plan has room for it."""
    if result.shape != view.shape:
        raise ShapeMismatch(f"{name} gave shape {result.shape}; {view.shape} was inferred")
    values = np.ascontiguousarray(result, dtype(view.dtype).numpy)
    if view.device == "cpu":
        array_of(view)[...] = values
        return
    with on(view.device):
        call("cuMemcpyHtoD", view.pointer, values.__array_interface__["data"][0], values.nbytes)
