"""What importing an fx graph gives: the FlowGraph, and how PyTorch's values meet it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.running.fallback import HostCall
from hidet.graph import FlowGraph, Tensor
from hidet.types import DType
from hidet_torch.importing.foreign import Number, numbers
from hidet_torch.weights.weight import Weight

__all__ = ["Alias", "Imported", "Interface", "LiveInput", "Mutation", "Number", "Output"]


@dataclass(frozen=True)
class LiveInput:
    """Argument number `position` as an input of the graph; its axes lie in `order`."""

    position: int
    tensor: Tensor
    order: tuple[int, ...]
    device: str
    complex: bool = False


@dataclass(frozen=True)
class Alias:
    """Where in shared memory a result lies: that of an argument, or of a group of results."""

    position: int | None
    group: int
    extent: int | Number
    dtype: torch.dtype
    size: tuple[int | Number, ...]
    stride: tuple[int | Number, ...]
    offset: int | Number

    def at(self, symbols: dict[str, int]) -> tuple[list[int], list[int], int]:
        """Size, strides and offset for given symbols."""
        (offset,) = numbers([self.offset], symbols)
        return numbers(self.size, symbols), numbers(self.stride, symbols), offset


@dataclass(frozen=True)
class Output:
    """One result: the graph's output number `index` with its axes in `order`, or a plain value.

    `shape` is that of the graph's output: the runtime may give the same elements in another one.
    None: data tell it, and the output has it.
    """

    index: int | None
    value: Any = None
    order: tuple[int, ...] = ()
    shape: tuple[int | Number, ...] | None = ()
    complex: bool = False
    alias: Alias | None = None


@dataclass(frozen=True)
class Mutation:
    """The graph's output `index` is written into argument `position`."""

    position: int
    index: int


@dataclass(frozen=True)
class Update:
    """Argument `position` is changed where it lies, by way of the graph's input number `index`."""

    position: int
    index: int


@dataclass(frozen=True)
class Interface:
    """How PyTorch's values become a graph's inputs, and its outputs PyTorch's values.

    `carriers` names sizes that are inputs of their own; `symbols` says from which argument, and
    which axis of it, each size is read. `dtypes` are those of the graph's outputs; `calls` are what
    PyTorch runs. `has_data_sizes`: sizes depend on data, which a call reads.
    """

    device: str
    inputs: Sequence[LiveInput]
    outputs: Sequence[Output]
    dtypes: Sequence[DType]
    carriers: Sequence[str] = ()
    symbols: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    mutations: Sequence[Mutation] = ()
    updates: Sequence[Update] = ()
    calls: Mapping[str, HostCall] = field(default_factory=dict)
    has_data_sizes: bool = False


@dataclass(frozen=True, kw_only=True)
class Imported(Interface):
    """A FlowGraph with its interface, its weights, and what became of the fx graph."""

    graph: FlowGraph
    weights: dict[Tensor, Weight]
    coverage: Coverage
    tensors: Mapping[torch.fx.Node, Any]
    """What each node of the fx graph became."""


def replaced(value: Any, new: Mapping[Tensor, Tensor]) -> Any:
    """What a node became, with the tensors that stand for others now."""
    if isinstance(value, list | tuple):
        return type(value)(replaced(each, new) for each in value)
    return new.get(value, value) if isinstance(value, Tensor) else value
