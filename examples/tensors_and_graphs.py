"""Tensors, operators that run at once, and graphs: hidet without another framework.

Run it: python examples/tensors_and_graphs.py
"""

from __future__ import annotations

import numpy as np
import torch

import hidet
from hidet.runtime.devices.device import device_count


def main() -> None:
    """Compute something at once, then the same as a graph, compiled, saved and loaded."""
    device = "cuda" if device_count() else "cpu"

    hidet.manual_seed(0)
    # Tensors: random, of one value, of Python's numbers, or sharing memory with others.
    a = hidet.randn([2, 3], device=device)
    print(a)
    print(hidet.zeros([2]), hidet.ones([2]), hidet.full([2], 0.5), hidet.arange(3))
    shared = torch.ones(2)
    same = hidet.from_torch(shared)
    shared[0] = 5
    assert same.numpy().tolist() == [5, 1]
    assert hidet.asarray([[1, 2], [3, 4]]).numpy().sum() == 10

    # Operators on tensors that have values run at once.
    b = hidet.randn([3, 2], device=device)
    c = hidet.randn([2], device=device)
    d = hidet.ops.matmul(a, b)
    d = d + c  # the same as hidet.ops.add(d, c)
    print(d)

    # On symbolic tensors they are only written down.
    def linear_bias(x: hidet.Tensor, b: hidet.Tensor, c: hidet.Tensor) -> hidet.Tensor:
        return hidet.ops.matmul(x, b) + c

    x = hidet.symbol_like(a)
    y = linear_bias(x, b, c)
    assert x.trace is None
    assert y.trace is not None
    print("x:", x)
    print("y:", y)

    # What was written down is a graph: it is optimized, called, and compiled.
    graph: hidet.FlowGraph = hidet.trace_from(y)
    print(graph)
    opt_graph: hidet.FlowGraph = hidet.graph.optimize(graph)
    y1 = opt_graph(a)
    print(y1)
    built = opt_graph.cuda_graph() if device == "cuda" else opt_graph.build()
    outputs = built.run([a])
    y2 = outputs[0]
    for each in (y1, y2):
        np.testing.assert_allclose(each.cpu().numpy(), d.cpu().numpy(), rtol=1e-5, atol=1e-5)
    print("the graph computes what the operators did")


if __name__ == "__main__":
    main()
