"""Operators that stay in PyTorch: what to call, and with which values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from hidet.frontend.execute import HostStep, View
from hidet_torch.memory.tensors import tensor_of

SYMBOLS: ContextVar[dict[str, int]] = ContextVar("symbols", default={})  # noqa: B039
"""The sizes of the call under way, for the regions that PyTorch runs."""


@dataclass(frozen=True)
class Slot:
    """Stands for a tensor among a call's arguments, and says how the operator expects it to lie."""

    position: int
    dtype: torch.dtype
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]


@dataclass(frozen=True)
class Number:
    """Stands for a symbolic number among a call's arguments: `read` finds it in the symbols."""

    read: Callable[[dict[str, int]], Any]


@dataclass(frozen=True)
class ForeignCall:
    """One call of a PyTorch operator; `results` says which of its flat results are wanted."""

    target: Callable[..., Any]
    args: Any
    kwargs: Any
    results: tuple[int, ...]

    def __call__(
        self, tensors: Sequence[torch.Tensor], symbols: dict[str, int]
    ) -> list[torch.Tensor | None]:
        """The wanted results for these tensors, which lie in rows; None where there is none."""

        def filled(value: Any) -> Any:
            if isinstance(value, Slot):
                return laid(tensors[value.position], value, symbols)
            return value.read(symbols) if isinstance(value, Number) else value

        with torch.no_grad():
            args, kwargs = tree_map(filled, (self.args, self.kwargs), is_leaf=is_placeholder)
            flat = tree_leaves(self.target(*args, **kwargs))
        return [flat[position] for position in self.results]


def host_step(call: ForeignCall) -> HostStep:
    """A call of PyTorch's as a step of the plan."""

    def step(reads: Sequence[View], writes: Sequence[View]) -> None:
        found = call([tensor_of(view) for view in reads], SYMBOLS.get())
        for view, result in zip(writes, found, strict=False):
            if result is None:  # as for a backward pass that does not come: nobody reads it
                continue
            rows = plain(result)
            tensor_of(view).view(rows.shape).copy_(rows)

    return step


def numbers(values: Sequence[Any], symbols: dict[str, int]) -> list[Any]:
    """Each value as a number."""
    return [each.read(symbols) if isinstance(each, Number) else each for each in values]


def is_placeholder(value: Any) -> bool:
    """Whether it stands for something that a call fills in."""
    return isinstance(value, Slot | Number)


def laid(tensor: torch.Tensor, slot: Slot, symbols: dict[str, int]) -> torch.Tensor:
    """The tensor with the shape and the strides that the operator was traced with.

    Memory may come under the shape that its elements had before they were given another one.
    """
    shape, strides = (numbers(each, symbols) for each in (slot.shape, slot.strides))
    if slot.dtype.is_complex:
        own = torch.view_as_complex(tensor.view(*shape, 2))
    else:
        own = tensor.view(shape)
    if list(own.stride()) == strides or (own.is_contiguous() and not own.numel()):
        return own
    made = torch.empty_strided(own.shape, strides, dtype=own.dtype, device=own.device)
    if 0 in strides:
        return own.expand(own.shape)  # an expanded tensor's copies are equal; nobody writes to it
    return made.copy_(own)


def plain(result: torch.Tensor) -> torch.Tensor:
    """A result as hidet keeps it: in rows, a complex one as pairs."""
    real = torch.view_as_real(result.resolve_conj()) if result.is_complex() else result
    return real.resolve_neg().contiguous()
