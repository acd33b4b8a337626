"""Operators bound by memory, at sizes beyond the L2 cache: what they reach is a share of a copy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

Shape = tuple[int, ...]

SQUARE: Shape = (4096, 4096)
LARGE: Shape = (16384, 4096)
LINES: tuple[Shape, ...] = ((65536, 1024), (1024, 65536))
"""Where the length of a row matters: many short ones, few long ones; 64 Mi elements as LARGE."""
IMAGES: Shape = (32, 512, 64, 64)
"""Images, channels, height and width: 64 Mi elements too."""


class Streamed(NamedTuple):
    """A function of `operands` tensors of one shape, and of indices if it asks for some, and what
    it must read and write at least."""

    name: str
    make: Callable[[Shape], Callable[..., Any]]
    shape: Shape
    operands: int = 1
    written: Callable[[Shape], int] = math.prod
    """Elements of the result."""
    indices: Callable[[Shape], Shape] | None = None
    """The shape of a further operand: numbers below the extent of `axis`."""
    axis: int = 0

    def moved(self, dtype: torch.dtype) -> int:
        """The bytes of operands and result, each once; weights along a row are not counted, nor
        rows of a table that nobody asks for."""
        elements = self.operands * math.prod(self.shape) + self.written(self.shape)
        picked = math.prod(self.indices(self.shape)) if self.indices else 0
        return elements * dtype.itemsize + picked * torch.int64.itemsize

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
        found = [
            torch.randn(self.shape, dtype=dtype, device=device, generator=generator)
            for _ in range(self.operands)
        ]
        if self.indices:
            shape, below = self.indices(self.shape), self.shape[self.axis]
            found.append(torch.randint(below, shape, device=device, generator=generator))
        return tuple(found)


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
    """All of them: first those of one pass over matrices, then those of other kinds."""
    yield from pointwise()
    yield from along_rows_and_columns()
    yield from others()


def pointwise() -> Iterator[Streamed]:
    """A copy, elements from elements, and a transpose."""
    plain: dict[str, tuple[Callable[[Shape], Callable[..., Any]], int]] = {
        "copy": (lambda shape: lambda x: x.clone(), 1),
        "x * 2 + 1": (lambda shape: lambda x: x * 2 + 1, 1),
        "gelu(tanh(x) * x)": (lambda shape: lambda x: F.gelu(torch.tanh(x) * x), 1),
        "relu(x + y)": (lambda shape: lambda x, y: F.relu(x + y), 2),
        "gelu(x + bias)": (lambda shape: BiasGelu(shape[1]), 1),
        "transpose": (lambda shape: lambda x: x.t().contiguous(), 1),
    }
    for shape in (SQUARE, LARGE):
        for name, (make, operands) in plain.items():
            yield Streamed(named(name, shape), make, shape, operands)


def along_rows_and_columns() -> Iterator[Streamed]:
    """Norms and sums."""
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


def others() -> Iterator[Streamed]:
    """Images, tables, and tensors put together or taken apart."""
    yield Streamed("group norm", lambda shape: nn.GroupNorm(32, shape[1]), IMAGES)
    pool = Streamed("max pool", lambda _: partial(F.max_pool2d, kernel_size=2), IMAGES)
    yield pool._replace(written=lambda shape: math.prod(shape) // 4)
    yield Streamed("depthwise 3x3", depthwise, IMAGES)
    rows = Streamed("embedding", lambda _: lambda x, i: F.embedding(i, x), LINES[0])
    yield rows._replace(indices=lambda shape: shape[:1])
    picks = Streamed("gather", lambda _: lambda x, i: torch.gather(x, 1, i), LARGE, axis=1)
    yield picks._replace(indices=lambda shape: shape)
    joined = Streamed("concat", lambda _: lambda x, y: torch.cat([x, y], 1), (16384, 2048), 2)
    yield joined._replace(written=lambda shape: 2 * math.prod(shape))
    yield Streamed("gate of halves", lambda _: gate_of_halves, LARGE)._replace(
        written=lambda shape: math.prod(shape) // 2
    )


def depthwise(shape: Shape) -> nn.Module:
    """A convolution of each channel by itself."""
    return nn.Conv2d(shape[1], shape[1], 3, padding=1, groups=shape[1], bias=False)


def gate_of_halves(x: torch.Tensor) -> torch.Tensor:
    """One half of each row, gated by the other."""
    first, second = x.chunk(2, -1)
    return F.silu(first) * second


def named(name: str, shape: Shape) -> str:
    """The name of an operator at a shape."""
    return f"{name} {shape[0]}x{shape[1]}"
