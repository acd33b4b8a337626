"""Operators bound by memory on the GPU, at sizes that take every way of computing them."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import FlowGraph, Tensor, evaluate
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.types import f16, f32

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
CASES = {
    "column sum": lambda x: ops.sum(x, (0,)),
    "row sum": lambda x: ops.sum(x, (1,)),
    "sum": lambda x: ops.sum(x, (0, 1)),
    "largest of columns": lambda x: ops.max(x, (0,)),
    "transpose": lambda x: ops.transpose(x, 0, 1) * 2.0,
    "elementwise": lambda x: ops.relu(x * 2.0 + 1.0),
    "softmax": lambda x: ops.softmax(x, -1),
    "softmax of columns": lambda x: ops.softmax(x, 0),
    "layer norm": lambda x: ops.layer_norm(x),
    "RMS norm": lambda x: ops.rms_norm(x),
}
SHAPES = [(1, 1), (33, 129), (2048, 1024), (2053, 1021), (1031, 4096), (150, 65536), (65536, 24)]


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_on_device(name, shape, of):
    check(CASES[name], shape, of)


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize("shape", [(80, 32, 64, 64), (3, 6, 5, 7)], ids=str)
def test_group_norms_on_device(shape, of):
    check(lambda x: ops.group_norm(x, 2), shape, of)


def check(function, shape, of):
    """Run a function of a random tensor twice, and compare with float64."""
    x = Tensor(of[shape], DEVICE)
    graph = FlowGraph([x], [function(x)], "case")
    array = np.random.default_rng(0).uniform(-1, 1, shape).astype(of.numpy)
    executor = Executor(compile_graph(graph).archive, DEVICE)
    results = [array_of(executor([to_device(array, DEVICE)])[0]) for _ in range(2)]
    (expected,) = evaluate(graph, array.astype(np.float64))
    assert (results[0] == results[1]).all(), "the order of summation is fixed"
    error = np.linalg.norm(results[0].astype(np.float64) - expected)
    length = np.linalg.norm(expected)
    assert error <= (2e-3 if of is f16 else 2e-6) * length + 1e-3 * (length < 1)
