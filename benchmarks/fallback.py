"""Models of complex numbers, Fourier transforms and operators that stay in PyTorch, beside eager.

    python -m benchmarks.fallback [models]

On one thread of a CPU; the systems take turns. `dynamo` is `torch.compile(backend="eager")`, what
PyTorch's own capture and guards cost. Times are those of the process at work, not by the clock.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

import hidet_torch
from benchmarks.measure.interleaved import interleaved
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.table import table
from hidet.frontend.importing.report import FallbackWarning

Model = tuple[nn.Module, tuple[torch.Tensor, ...]]


class GlobalFilter(nn.Module):
    """A layer of GFNet: an image is filtered by the product of its transform and a weight."""

    def __init__(self, size: int = 14, width: int = 64) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, size // 2 + 1, width, 2) * 0.02)
        self.norm, self.mix, self.size = nn.LayerNorm(width), nn.Linear(width, width), size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.fft.rfft2(self.norm(x), dim=(1, 2), norm="ortho")
        y = y * torch.view_as_complex(self.weight)
        both = (self.size, self.size)
        return x + self.mix(torch.fft.irfft2(y, s=both, dim=(1, 2), norm="ortho"))


class FNet(nn.Module):
    """A layer of FNet: tokens are mixed by the real part of a transform."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(x + torch.fft.fft2(x).real)
        return self.norm(x + self.mix(x))


class Correlation(nn.Module):
    """A signal's correlation with its reverse: transforms, and little else."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x.flip(-1)).conj())


class Spectrum(nn.Module):
    """One transform, and nothing else."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.fft(x).real


class Rotary(nn.Module):
    """Rotary embedding as Llama has it: products with complex frequencies."""

    def __init__(self, width: int = 64, length: int = 256) -> None:
        super().__init__()
        steps = 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width)
        angles = torch.outer(torch.arange(length).float(), steps)
        self.freqs = nn.Buffer(torch.polar(torch.ones_like(angles), angles))

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(map(self.turned, (q, k)))

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = pairs * self.freqs[None, :, None, :]
        return torch.view_as_real(turned).flatten(3).type_as(x)


class Left(nn.Module):
    """Nothing that is compiled."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j1(torch.special.bessel_j0(x.t()))


MODELS: dict[str, Callable[[], Model]] = {
    "global filter": lambda: (GlobalFilter(), (torch.randn(2, 14, 14, 64),)),
    "fnet": lambda: (FNet(), (torch.randn(2, 128, 256),)),
    "correlation": lambda: (Correlation(), (torch.randn(64, 1024),)),
    "spectrum": lambda: (Spectrum(), (torch.randn(512, 256),)),
    "rotary": lambda: (Rotary(), (torch.randn(1, 256, 8, 64), torch.randn(1, 256, 8, 64))),
    "all left": lambda: (Left(), (torch.randn(256, 256),)),
}


@dataclass(frozen=True)
class FallbackRow:
    """Milliseconds that a system is at work for one call, and its distance from eager's result."""

    model: str
    system: str
    milliseconds: float
    times_eager: float
    error: float


def measure(name: str, seconds: float) -> Iterator[FallbackRow]:
    """A row for each system."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, inputs = MODELS[name]()
    model.eval()
    systems: dict[str, Callable[..., Any]] = {
        "eager": model,
        "dynamo": torch.compile(model, backend="eager"),
        "torch.compile": torch.compile(model, backend="hidet"),
        "hidet_torch.compile": hidet_torch.compile(model, *inputs),
    }
    meant = model(*inputs)
    errors = {system: distance(call(*inputs), meant) for system, call in systems.items()}
    calls = {system: lambda call=call: call(*inputs) for system, call in systems.items()}
    times = {
        system: statistics.median(each.busy) for system, each in interleaved(calls, seconds).items()
    }
    for system, each in times.items():
        yield FallbackRow(name, system, each, each / times["eager"], errors[system])


def distance(found: Any, meant: Any) -> float:
    """The largest difference of results."""
    pairs = zip(found, meant, strict=True) if isinstance(meant, tuple) else [(found, meant)]
    return max(float((a - b).abs().max()) for a, b in pairs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of some models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL")
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FallbackWarning)
    print(headline(machine("cpu")))
    with torch.no_grad():
        rows = [row for name in given.models for row in measure(name, given.seconds)]
    print(
        table(
            ("model", "system", "ms at work", "times eager", "error"),
            [
                [
                    r.model,
                    r.system,
                    f"{r.milliseconds:.3f}",
                    f"{r.times_eager:.2f}",
                    f"{r.error:.0e}",
                ]
                for r in rows
            ],
        )
    )


if __name__ == "__main__":
    main()
