"""Convolutional networks and convolutions with channels last, compiled and run on the GPU."""

from random import Random

import numpy as np
import pytest

from hidet.build.compile import compile_graph
from hidet.graph import evaluate
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear
from hidet.ops.windows.conv import Conv
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.schedules.base import candidates
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.graphs import arrays_for
from hidet.testing.networks import random_network
from hidet.types import bf16, f16

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
ONE, SAME = (1, 1), ((1, 1), (1, 1))
OPS = [
    Conv(f16[1, 28, 28, 64], f16[64, 3, 3, 64], f16[64], ONE, SAME, ONE, 1, True),
    Conv(f16[2, 29, 13, 24], f16[33, 3, 2, 24], None, (2, 1), ((1, 0), (0, 1)), (1, 2), 1, True),
    Conv(bf16[1, 9, 9, 258], bf16[129, 1, 3, 258], bf16[129], ONE, SAME, ONE, 1, True),
    Conv(f16[1, 33, 33, 36], f16[9, 3, 3, 12], f16[9], (2, 2), SAME, ONE, 3, True),
    Conv(f16[1, 31, 33, 3], f16[32, 7, 7, 3], f16[32], (2, 2), ((3, 3), (3, 3)), ONE, 1, True),
    Conv(f16[2, 29, 30, 96], f16[96, 3, 3, 1], f16[96], ONE, SAME, ONE, 96, True),
    Conv(bf16[1, 15, 14, 33], bf16[66, 5, 3, 1], None, (2, 2), SAME, (1, 2), 33, True),
    Linear(f16[1, 14, 14, 520], f16[130, 520], f16[130]),
]


def run(graph, arrays):
    """The outputs of a graph whose constants are in the host's memory, on the GPU."""
    compiled = compile_graph(graph, Target.parse("sm_90a"))
    weights = {name: to_device(t.numpy(), DEVICE) for name, t in compiled.weights.items()}
    executor = Executor(compiled.archive, DEVICE, weights=weights)
    return [array_of(each) for each in executor([to_device(each, DEVICE) for each in arrays])]


@pytest.mark.parametrize("seed", range(24))
def test_random_networks(seed):
    graph = random_network(Random(2000 + seed), "float16", steps=8)
    arrays = [each.astype(np.float16) for each in arrays_for(graph)]
    for found, wanted in zip(run(graph, arrays), evaluate(graph, *arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("op", OPS, ids=str)
def test_any_point(op, number, monkeypatch):
    found = candidates(op, Target.parse("sm_90a"))
    each = Random(number).choice(found) if number else found[0]
    monkeypatch.setattr("hidet.build.choosing.choices.choices", lambda *_: (each,))
    inputs = [Tensor(of, DEVICE) for of in op.types()]
    graph = FlowGraph(inputs, list(Node(op, tuple(inputs), device=DEVICE).outputs), op.name)
    arrays = [np.asarray(each) for each in op.examples(seed=number)]
    (result,) = run(graph, arrays)
    wide = [np.asarray(each, np.float64) for each in arrays]
    wanted = op.reference(*op.arrange(wide))
    assert_close(np.asarray(result), wanted, op.results()[0].dtype, op.factor)
