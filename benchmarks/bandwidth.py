"""Operators bound by memory, at sizes beyond the L2 cache: what they reach is a share of a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

Shape = tuple[int, int]

SQUARE: Shape = (4096, 4096)
LARGE: Shape = (16384, 4096)
LINES: tuple[Shape, ...] = ((65536, 1024), (1024, 65536))
"""Where the length of a row matters: many short ones, few long ones; 64 Mi elements as LARGE."""


class Streamed(NamedTuple):
    """A function of `operands` tensors of one shape, and what it must read and write at least."""

    name: str
    make: Callable[[Shape], Callable[..., Any]]
    shape: Shape
    operands: int = 1
    written: Callable[[Shape], int] = lambda shape: shape[0] * shape[1]
    """Elements of the result."""

    def moved(self, dtype: torch.dtype) -> int:
        """The bytes of operands and result, each once; weights along a row are not counted."""
        elements = self.operands * self.shape[0] * self.shape[1] + self.written(self.shape)
        return elements * dtype.itemsize

    def build(self, dtype: torch.dtype, device: str) -> nn.Module:
        """The function as a module, which is what torch.export takes; weights are random."""
        torch.manual_seed(0)
        function = self.make(self.shape)
        module = function if isinstance(function, nn.Module) else Function(function)
        for weight in module.parameters():
            nn.init.normal_(weight)
        return module.to(device, dtype).requires_grad_(False)

    def inputs(self, dtype: torch.dtype, device: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
        """Random operands, the same for a seed."""
        generator = torch.Generator(device).manual_seed(seed)
        return tuple(
            torch.randn(self.shape, dtype=dtype, device=device, generator=generator)
            for _ in range(self.operands)
        )


class Function(nn.Module):
    """A function without weights."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


class BiasGelu(nn.Module):
    """What follows a linear layer."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x + self.bias)


def each_streamed() -> Iterator[Streamed]:
    """All of them."""
    plain: dict[str, tuple[Callable[[Shape], Callable[..., Any]], int]] = {
        "x * 2 + 1": (lambda shape: lambda x: x * 2 + 1, 1),
        "gelu(tanh(x) * x)": (lambda shape: lambda x: F.gelu(torch.tanh(x) * x), 1),
        "relu(x + y)": (lambda shape: lambda x, y: F.relu(x + y), 2),
        "gelu(x + bias)": (lambda shape: BiasGelu(shape[1]), 1),
        "transpose": (lambda shape: lambda x: x.t().contiguous(), 1),
    }
    for shape in (SQUARE, LARGE):
        for name, (make, operands) in plain.items():
            yield Streamed(named(name, shape), make, shape, operands)
    norms: dict[str, Callable[[Shape], Callable[..., Any]]] = {
        "softmax": lambda shape: partial(torch.softmax, dim=-1),
        "layer norm": lambda shape: nn.LayerNorm(shape[1]),
        "RMS norm": lambda shape: nn.RMSNorm(shape[1], eps=1e-6),
    }
    for shape in (SQUARE, LARGE, *LINES):
        for name, make in norms.items():
            yield Streamed(named(name, shape), make, shape)
        rows = Streamed(named("row sum", shape), lambda _: partial(torch.sum, dim=1), shape)
        yield rows._replace(written=lambda shape: shape[0])
        columns = Streamed(named("column sum", shape), lambda _: partial(torch.sum, dim=0), shape)
        yield columns._replace(written=lambda shape: shape[1])


def named(name: str, shape: Shape) -> str:
    """The name of an operator at a shape."""
    return f"{name} {shape[0]}x{shape[1]}"
