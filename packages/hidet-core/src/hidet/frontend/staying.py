"""Nodes that the framework runs: host steps of the plan, named and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hidet.frontend.execute import HostStep
from hidet.graph import Foreign, Tensor, apply_all
from hidet.graph.foreign import ResultTypes
from hidet.types import TensorType, u8


@dataclass(frozen=True)
class HostCall:
    """One node as the framework runs it: `step` reads `operands` and fills results of `gives`.

    `payload` is what an archive keeps of it, None if it cannot be saved. A call with `effects`, or
    one that draws random numbers, keeps its place among the others that do.
    """

    name: str
    operands: tuple[Tensor, ...]
    gives: tuple[TensorType, ...]
    step: HostStep
    payload: bytes | None = None
    effects: bool = False


class Staying:
    """The host calls of one graph by key."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.calls: dict[str, HostCall] = {}
        self.token: Tensor | None = None
        """What the last call with effects gives to the next one, which so comes after it."""

    def add(self, call: HostCall) -> Sequence[Any]:
        """The results of a call that becomes a node of the graph."""
        operands, types = list(call.operands), list(call.gives)
        if call.effects:
            operands += [] if self.token is None else [self.token]
            types.append(TensorType(u8, (1,)))
        key = f"{len(self.calls)}:{call.name}"
        self.calls[key] = call
        gives = ResultTypes(types)
        made = apply_all(Foreign, tuple(operands), key=key, gives=gives, device=self.device)
        if call.effects:
            self.token = made[-1]
        return made[: len(call.gives)]
