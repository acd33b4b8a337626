"""Which Fourier transforms of a graph take longer than those of an FFT library."""

from __future__ import annotations

from collections.abc import Iterator

from hidet.graph.flow import FlowGraph
from hidet.ops.signals.dft_matrix import DftMatrix
from hidet.ops.signals.fourier_steps import SHORT
from hidet.target import Target


def long_transforms(graph: FlowGraph, target: Target) -> Iterator[str]:
    """A sentence for each length of transforms in a graph for a CPU that matmuls compute slowly.

    On an H200 they take about half of the time of PyTorch's; on one thread of a CPU, with MKL,
    5 times as long from 64 elements on, 3 to 9 times from 256 on, and up to 17 by one matrix.
    """
    if target.kind != "cpu":
        return
    periods = [each.op.period for each in graph.nodes if isinstance(each.op, DftMatrix)]
    known = {n for n in periods if isinstance(n, int) and n > SHORT}
    # What the first factor of a transform leaves is transformed in its turn.
    whole = [n for n in sorted(known) if not any(more > n and more % n == 0 for more in known)]
    data_sizes = dict.fromkeys(str(n) for n in periods if not isinstance(n, int))
    for length in (*map(str, whole), *data_sizes):
        yield (
            f"Fourier transforms of {length} elements are computed by matmuls; an FFT library, "
            "such as that of PyTorch, takes less time on a CPU"
        )
