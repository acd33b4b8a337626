"""Weights that each call brings, as functional models and hyper-networks have them.

    python -m benchmarks.functional [--dtype float16] [--device cuda]

Layers are functions of an image and a weight; the last rows are a whole network whose parameters
are arguments. Times are wall time of calls that follow each other, weights turned and all.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.func import functional_call
from torch.nn.functional import conv2d, linear

from benchmarks.measure.accuracy import relative_error
from benchmarks.measure.machine import default_device, headline, machine
from benchmarks.measure.systems import SYSTEMS, Inputs, empty_caches
from benchmarks.measure.table import table
from benchmarks.measure.timing import milliseconds
from benchmarks.models import build

LAYERS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "conv 1x64x56x56, 3x3": ((1, 64, 56, 56), (64, 64, 3, 3)),
    "conv 8x64x56x56, 3x3": ((8, 64, 56, 56), (64, 64, 3, 3)),
    "conv 32x128x28x28, 3x3": ((32, 128, 28, 28), (128, 128, 3, 3)),
    "conv 32x256x14x14, 1x1": ((32, 256, 14, 14), (1024, 256, 1, 1)),
    "conv 8x320x64x64, 3x3": ((8, 320, 64, 64), (320, 320, 3, 3)),
    "linear 128x768": ((128, 768), (3072, 768)),
    "linear 4096x4096": ((4096, 4096), (4096, 4096)),
}
"""Shapes of x and of the weight."""
SYSTEMS_ASKED = ("eager", "eager in a CUDA graph", "inductor", "hidet")


def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """A layer and an activation."""
    made = conv2d(x, w, padding=w.shape[-1] // 2) if x.ndim == 4 else linear(x, w)
    return made.relu()


def network(name: str, batch: int, dtype: torch.dtype, device: str) -> tuple[Any, Inputs]:
    """A network as a function of its input and all of its parameters, and these."""
    model, (x,) = build(name, dtype, device, batch)
    names = [each for each, _ in model.named_parameters()]
    kept = {name: each for name, each in model.named_buffers() if each.is_floating_point()}

    def function(x: torch.Tensor, *values: torch.Tensor) -> Any:
        as_wide = {name: each.to(x.dtype) for name, each in kept.items()}  # float64 for the error
        return functional_call(model, as_wide | dict(zip(names, values, strict=True)), (x,))

    return function, (x, *model.parameters())


def compared(
    function: Callable[..., Any], inputs: Inputs, device: str, seconds: float
) -> list[str]:
    """The times of a function by each system, as cells of a table; its error where it fails."""
    with torch.no_grad():
        wide = [each.double() for each in inputs]
        expected = function(*wide)
    cells = []
    for name in SYSTEMS_ASKED:
        torch._dynamo.reset()
        if name == "eager in a CUDA graph" and device != "cuda":
            continue
        with empty_caches(), torch.no_grad():
            call = SYSTEMS[name](function, inputs)
            error = relative_error(call(), expected)
            taken = milliseconds(call, device, seconds=seconds).median
        cells.append(f"{taken:.4f}" if error < 0.02 and not math.isnan(error) else f"WRONG {error}")
    return cells


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functional", description=__doc__)
    parser.add_argument("layers", nargs="*", default=list(LAYERS))
    parser.add_argument("--networks", nargs="*", default=["resnet50"])
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 32])
    parser.add_argument("--dtype", default="float16")
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--seconds", type=float, default=0.3)
    asked = parser.parse_args(arguments)
    dtype = getattr(torch, asked.dtype)
    print(headline(machine(asked.device)), flush=True)
    torch.manual_seed(0)
    rows = []
    for name in asked.layers:
        given = tuple(torch.randn(s).to(asked.device, dtype) / 8 for s in LAYERS[name])
        rows.append([name, *compared(layer, given, asked.device, asked.seconds)])
    for name in asked.networks:
        for batch in asked.batch:
            made = network(name, batch, dtype, asked.device)
            rows.append([f"{name}, batch {batch}", *compared(*made, asked.device, asked.seconds)])
    systems = [s for s in SYSTEMS_ASKED if s != "eager in a CUDA graph" or asked.device == "cuda"]
    print(table(["milliseconds", *systems], rows))
    return int(any("WRONG" in cell for row in rows for cell in row))


if __name__ == "__main__":
    sys.exit(main())
