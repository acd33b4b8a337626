"""Sizes that only calls tell, against a model compiled anew for each.

    python -m benchmarks.dynamic [networks] [--dtype float16] [--device cuda]

A dynamic model is compiled with its batch and the length of texts left open, and called at all
sizes (Dynamo compiles it again for a size of one, which it takes for a number); a static one is
compiled for each. The times of a row are taken one system after the other.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.machine import default_device, headline, machine
from benchmarks.measure.systems import Inputs, empty_caches
from benchmarks.measure.table import table
from benchmarks.measure.timing import milliseconds
from benchmarks.models import NETWORKS, build

SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "bert_base": ((1, 32), (1, 128), (8, 128), (16, 512)),
    "resnet50": ((1,), (8,), (32,)),
    "unet": ((1,), (4,), (16,)),
    "llama": ((1, 64), (1, 512), (1, 2048)),
}
"""The batches that a network is called with, and for texts the lengths."""
MODELS: dict[str, dict[str, Any]] = {
    "hidet static": {"backend": "hidet", "dynamic": False},
    "hidet dynamic": {"backend": "hidet"},
    "inductor static": {"mode": "reduce-overhead", "dynamic": False},
    "inductor dynamic": {"mode": "reduce-overhead"},
}
"""How `torch.compile` makes each; in dynamic ones only what is marked is open."""
EAGER = "eager"


@dataclass(frozen=True)
class DynamicRow:
    """What one system took for one size."""

    network: str
    size: tuple[int, ...]
    system: str
    milliseconds: float
    error: float
    failure: str = ""


def inputs_at(network: str, size: tuple[int, ...], like: torch.Tensor) -> Inputs:
    """Random inputs of a batch, and a length."""
    of = NETWORKS[network]
    shape = (*size, *of.shape[len(size) - 1 :])
    if of.vocabulary:
        return (torch.randint(of.vocabulary, shape, device=like.device),)
    return (torch.randn(shape).to(like),)


def measure_dynamic(
    network: str,
    sizes: Sequence[tuple[int, ...]],
    dtype: torch.dtype = torch.float16,
    device: str = "cuda",
    seconds: float = 0.3,
) -> Iterator[DynamicRow]:
    """A row for each system and size, all on the same weights."""
    model, (given,) = build(network, dtype, device)
    calls = {size: inputs_at(network, size, given) for size in sizes}
    expected = {size: reference(model, inputs) for size, inputs in calls.items()}
    for system in (EAGER, *MODELS):
        made = model
        with empty_caches(), torch.no_grad():
            for size, inputs in calls.items():
                if system != EAGER and (made is model or system.endswith("static")):
                    torch._dynamo.reset()
                    made = torch.compile(model, **MODELS[system])
                yield row(network, size, system, made, inputs, expected[size], device, seconds)


def row(
    network: str, size: tuple[int, ...], system: str, made: Callable[..., Any],
    inputs: Inputs, expected: torch.Tensor, device: str, seconds: float,
) -> DynamicRow:  # fmt: skip
    """One system at one size."""
    if system.endswith("dynamic"):
        for axis in range(len(size)):
            if size[axis] > 1:  # Dynamo takes a size of one for a number
                torch._dynamo.mark_dynamic(inputs[0], axis)
    try:
        error = relative_error(made(*inputs), expected)
        taken = milliseconds(lambda: made(*inputs), device, seconds=seconds).median
    except Exception as problem:  # reported in the table; the others still run
        return DynamicRow(network, size, system, math.nan, math.nan, f"{problem}"[:200])
    return DynamicRow(network, size, system, taken, error)


def dynamic_table(rows: Sequence[DynamicRow]) -> str:
    """Milliseconds by network, size and system, and how much longer dynamic takes than static."""
    found = {(each.network, each.size, each.system): each for each in rows}
    places = list(dict.fromkeys((each.network, each.size) for each in rows))
    systems = list(dict.fromkeys(each.system for each in rows))
    lines, ratios = [], []
    for place in places:
        times = [found[*place, system].milliseconds for system in systems]
        fixed, moving = (found[*place, f"hidet {way}"] for way in ("static", "dynamic"))
        ratios.append(moving.milliseconds / fixed.milliseconds)
        size = " x ".join(map(str, place[1]))
        lines.append([place[0], size, *(f"{t:.3f}" for t in times), f"{ratios[-1]:.2f}"])
    head = ["network", "size", *systems, "dynamic / static"]
    known = [each for each in ratios if not math.isnan(each)]
    mean = statistics.geometric_mean(known) if known else math.nan
    failures = [f"{e.network} {e.size} {e.system}: {e.failure}" for e in rows if e.failure]
    return "\n".join([table(head, lines), f"dynamic / static: {mean:.2f} (geomean)", *failures])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dynamic", description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(SIZES))
    parser.add_argument("--dtype", default="float16")
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--seconds", type=float, default=0.3)
    asked = parser.parse_args(arguments)
    print(headline(machine(asked.device)), flush=True)
    rows = []
    for network in asked.networks:
        given = getattr(torch, asked.dtype), asked.device, asked.seconds
        for each in measure_dynamic(network, SIZES[network], *given):
            print(f"  {each.network} {each.size} {each.system}: {each.milliseconds:.3f} ms,"
                  f" error {each.error:.1e} {each.failure}", flush=True)  # fmt: skip
            rows.append(each)
    print(dynamic_table(rows))
    return int(any(each.failure for each in rows if each.system.startswith("hidet")))


if __name__ == "__main__":
    sys.exit(main())
