"""Nodes that the framework runs: host steps of the plan, named and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidet.frontend.running.execute import HostStep, View
from hidet.frontend.running.host_values import HostFunction
from hidet.graph import Foreign, Tensor, apply_all, asarray
from hidet.graph.foreign import ResultTypes
from hidet.runtime.binding.memory import array_of, write_array
from hidet.types import TensorType, u8


@dataclass(frozen=True)
class HostCall:
    """One node as the framework runs it: `step` reads `operands` and fills results of `gives`.

    A result that is no tensor is None in `gives`, and `step` has no place to fill for it.
    `payload` is what an archive keeps of it, None if it cannot be saved. A call with `effects`, or
    one that draws random numbers, keeps its place among the others that do.
    """

    name: str
    operands: tuple[Tensor, ...]
    gives: tuple[TensorType | None, ...]
    step: HostStep
    payload: bytes | None = None
    effects: bool = False


class FallbackCalls:
    """The host calls of one graph by key, and the functions that run between graphs."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.calls: dict[str, HostCall] = {}
        self.functions: list[HostFunction] = []
        """What runs between graphs, in an order in which it can."""
        self.token: Tensor | None = None
        """What the last call with effects gives to the next one, which so comes after it."""

    def add(self, call: HostCall | HostFunction) -> Sequence[Any]:
        """The results of a call that becomes a node of the graph, or runs between graphs."""
        if isinstance(call, HostFunction):
            self.functions.append(call)
            return call.results
        operands = list(call.operands)
        types = [each for each in call.gives if each is not None]
        if call.effects:
            operands += [] if self.token is None else [self.token]
            types.append(TensorType(u8, (1,)))
        key = f"{len(self.calls)}:{call.name}"
        self.calls[key] = call
        gives = ResultTypes(types)
        made = iter(apply_all(Foreign, tuple(operands), key=key, gives=gives, device=self.device))
        results = [None if each is None else next(made) for each in call.gives]
        if call.effects:
            self.token = next(made)
        return results


def numpy_step(run: Callable[..., Sequence[np.ndarray[Any, Any]]]) -> HostStep:
    """A step by a function from arrays to a sequence of arrays; on a GPU they are copied there and
    back, and the host waits. ShapeMismatch if a result does not fit where it is to lie."""

    def step(reads: Sequence[View], writes: Sequence[View]) -> None:
        for view, array in zip(writes, run(*map(array_of, reads)), strict=False):
            write_array(view, array)

    return step


def on_device(value: Any, device: str) -> Any:
    """An input as a compiled graph on `device` takes it: arrays of the host are copied there."""
    return asarray(value).to(device) if device != "cpu" and is_of_host(value) else value


def is_of_host(value: Any) -> bool:
    """Whether a value is numpy's or Python's own, or a list of such."""
    if isinstance(value, list | tuple):
        return all(map(is_of_host, value))
    return isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dlpack__")
