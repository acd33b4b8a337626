"""Results in the place of operands on a GPU: the same bits as in memory of their own."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.target import target_of_device
from hidet.graph import asarray, symbol, trace_from
from hidet.options import options
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.types import dtype

pytestmark = pytest.mark.gpu
LAYERS = 6


def layers(size, kind):
    """Products in a row, each with what came two before it added, as in residual networks."""
    random = np.random.default_rng(0)
    x = symbol((size, size), kind)
    before = now = x
    for _ in range(LAYERS):
        weight = random.standard_normal((size, size)) / size**0.5
        w = asarray(weight.astype(dtype(kind).numpy))
        before, now = now, ops.relu(ops.matmul(ops.relu(ops.matmul(now, w)), w) + before)
    return trace_from(ops.softmax(now), [x])


def run(graph, x):
    compiled = compile_graph(graph, target_of_device("cuda:0"))
    placed = {name: to_device(t.numpy(), "cuda:0") for name, t in compiled.weights.items()}
    executor = Executor(compiled.archive, "cuda:0", weights=placed)
    found = [array_of(executor([to_device(x, "cuda:0")])[0]) for _ in range(3)]
    (program,) = executor.programs.values()
    return found, program.bound


@pytest.mark.parametrize("size", [33, 129, 512, 1024])
@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_results_are_the_same_bit_by_bit(size, kind):
    x = np.random.default_rng(1).standard_normal((size, size)).astype(dtype(kind).numpy)
    with options(in_place=True):
        there, bound = run(layers(size, kind), x)
    with options(in_place=False):
        (apart, *_), plain = run(layers(size, kind), x)
    for each in there:
        np.testing.assert_array_equal(each, apart)
    assert bound.arena.nbytes < plain.arena.nbytes
