"""Single operators at the sizes that networks have, against cuBLAS, cuDNN and PyTorch's kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

Shape = tuple[int, ...]


class Case(NamedTuple):
    """A function or layer, the shapes of its inputs, and its arithmetic in flops."""

    name: str
    make: Callable[[], Callable[..., Any]]
    shapes: tuple[Shape, ...]
    flops: float

    def build(
        self, dtype: torch.dtype, device: str
    ) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
        """The callable and its inputs, random and the same each time; images are channels-last."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            function = self.make()
            inputs = tuple(torch.randn(shape).to(device, dtype) for shape in self.shapes)
        if isinstance(function, nn.Module):
            function = function.to(device, dtype).requires_grad_(False)
        if isinstance(function, nn.Conv2d):
            function = function.to(memory_format=torch.channels_last)
            inputs = tuple(x.to(memory_format=torch.channels_last) for x in inputs)
        return function, inputs


SQUARES = (1024, 2039, 2048, 4096, 8192)
LINEARS = (
    (128, 768, 768),
    (128, 3072, 768),
    (128, 768, 3072),
    (197, 768, 3072),
    (512, 8192, 2048),
    (512, 2048, 8192),
    (1, 4096, 4096),
    (1, 14336, 4096),
    (64, 14336, 4096),
)
"""Rows, outputs, inputs: those of BERT-base, of ViT-B/16, of Llama-3.2-1B at 512 tokens, and of
decoders at one and at 64 tokens."""

ODD = (
    (1000, 1000, 1000),
    (2040, 2040, 2040),
    (300, 1777, 999),
)
"""Matmuls of which rows are no whole lines of memory, or no whole 16 bytes."""
ODD_LINEARS = (
    (300, 1777, 999),
    (128, 1000, 999),
    (1024, 1000, 999),
    (2039, 2039, 2039),
    (128, 30522, 768),
)
"""The same of layers, with a bias: rows, outputs, inputs."""

CONVOLUTIONS = (
    (64, 64, 3, 1, 56),
    (128, 128, 3, 1, 28),
    (256, 256, 3, 1, 14),
    (512, 512, 3, 1, 7),
    (256, 128, 1, 1, 56),
    (512, 256, 1, 1, 28),
    (1024, 512, 1, 1, 14),
    (2048, 512, 1, 1, 7),
    (3, 64, 7, 2, 224),
)
"""Channels in and out, kernel, stride, height and width: those of ResNet-50, batch 1."""

ATTENTIONS = (
    (1, 12, 12, 128, 128, 64, False),
    (8, 16, 16, 1024, 1024, 64, False),
    (1, 32, 32, 4096, 4096, 128, True),
    (1, 32, 8, 512, 512, 64, True),
    (1, 32, 8, 1, 4096, 128, False),
    (1, 32, 8, 1, 32768, 128, False),
)
"""Batch, heads of q, heads of k and v, rows, keys, size of a head, causal: those of BERT-base, of
large batches, of decoders that read a text and that add a word to one."""


def cases() -> Iterator[Case]:
    """All of them."""
    for n in SQUARES:
        yield Case(f"matmul {n} {n} {n}", lambda: torch.matmul, ((n, n), (n, n)), 2.0 * n**3)
    for m, n, k in LINEARS:
        make: Callable[[], Callable[..., Any]] = partial(nn.Linear, k, n, bias=False)
        yield Case(f"linear {m} {n} {k}", make, ((m, k),), 2.0 * m * n * k)
    for m, n, k in ODD:
        yield Case(
            f"odd matmul {m} {n} {k}", lambda: torch.matmul, ((m, k), (k, n)), 2.0 * m * n * k
        )
    for m, n, k in ODD_LINEARS:
        yield Case(f"odd linear {m} {n} {k}", partial(nn.Linear, k, n), ((m, k),), 2.0 * m * n * k)
    for row in CONVOLUTIONS:
        yield convolution(*row)
    for row in ATTENTIONS:
        yield attention(*row)
    grid = (4096, 4096)
    yield Case("softmax 4096 4096", lambda: partial(torch.softmax, dim=-1), (grid,), 0)
    yield Case("layer norm 4096 4096", partial(nn.LayerNorm, 4096), (grid,), 0)
    yield Case("gelu 4096 4096", lambda: F.gelu, (grid,), 0)


def convolution(channels: int, width: int, kernel: int, stride: int, size: int) -> Case:
    """A convolution without bias that keeps the size, or divides it by the stride."""
    make = partial(nn.Conv2d, channels, width, kernel, stride, kernel // 2, bias=False)
    out = (size + 2 * (kernel // 2) - kernel) // stride + 1
    name = f"conv {channels}->{width} {kernel}x{kernel} /{stride} @{size}"
    flops = 2.0 * out * out * width * channels * kernel * kernel
    return Case(name, make, ((1, channels, size, size),), flops)


def attention(
    batch: int, heads: int, shared: int, rows: int, keys: int, size: int, causal: bool
) -> Case:
    """Scaled dot-product attention."""
    attend = F.scaled_dot_product_attention
    make = partial(partial, attend, is_causal=causal, enable_gqa=heads != shared)
    name = f"attention {batch}x{heads}x{rows}x{size}"
    name += f" on {shared}x{keys}" if (shared, keys) != (heads, rows) else ""
    name += " causal" if causal else ""
    flops = 4.0 * batch * heads * rows * keys * size * (0.5 if causal else 1)
    kept = (batch, shared, keys, size)
    return Case(name, make, ((batch, heads, rows, size), kept, kept), flops)
