"""GPT-2 writes 64 tokens: the loop in a CUDA graph, beside the same loop driven by the host.

python -m benchmarks.greedy [--tokens 64] [--device cuda]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.measure.machine import headline, machine
from benchmarks.measure.table import table
from benchmarks.measure.timing import Times, host_microseconds, milliseconds
from benchmarks.networks.greedy import Sizes, greedy_gpt2
from hidet import FlowGraph, Tensor
from hidet.graph import asarray

Call = Callable[[], Any]
ROUNDS = 5
"""Systems take turns so often."""


def in_the_graph(graph: FlowGraph, first: Tensor) -> Call:
    """A call that is a launch of one graph."""
    compiled = graph.build()
    compiled(first)
    return lambda: compiled(first)


def driven_by_the_host(graph: FlowGraph, first: Tensor) -> Call:
    """A call in which the host launches each round, as where no graph can hold a loop."""
    with patch("hidet.runtime.programs.stream_program.fits_graph", lambda bound, number: False):
        return in_the_graph(graph, first)


SYSTEMS = {"in the graph": in_the_graph, "driven by the host": driven_by_the_host}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print milliseconds of a text and of a token; status 1 if the texts differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--device", default="cuda")
    chosen = parser.parse_args(arguments)
    print(headline(machine(chosen.device)))
    dtype = "float16" if chosen.device == "cuda" else "float32"
    graph = greedy_gpt2(Sizes(), chosen.tokens, dtype, chosen.device)
    first = asarray(np.array([464])).to(chosen.device)
    calls = {name: make(graph, first) for name, make in SYSTEMS.items()}
    texts = {name: call().cpu().numpy().ravel().tolist() for name, call in calls.items()}
    times: dict[str, list[Times]] = {name: [] for name in calls}
    for name in (*calls,) * ROUNDS:
        times[name].append(milliseconds(calls[name], chosen.device))
    hosts = host_microseconds(calls, chosen.device, each=2, rounds=ROUNDS)
    lines = []
    for name, found in times.items():
        median = statistics.median(each.median for each in found)
        least = min(each.fastest for each in found)
        each = f"{median / chosen.tokens:.3f}"
        host = f"{statistics.median(hosts[name]):.0f}"
        lines.append([name, f"{median:.2f}", f"{least:.2f}", each, host, str(texts[name][:8])])
    print(table(("loop", "ms", "fastest", "ms a token", "host us", "text begins"), lines))
    return 0 if len({tuple(each) for each in texts.values()}) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
