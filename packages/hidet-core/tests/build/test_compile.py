"""Graphs compiled for this machine and run: corners of plans."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import evaluate, from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.dims import size_symbol
from hidet.options import options
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.testing.compare import assert_close
from hidet.testing.graphs import arrays_for
from hidet.types import i64

FACTOR = 64.0


@pytest.fixture(autouse=True)
def own_cache(tmp_path):
    with options(cache_dir=str(tmp_path)):
        yield


def executor_of(graph):
    return Executor(compile_graph(graph).with_weights(), "cpu")


def run(executor, arrays):
    return [array_of(view).copy() for view in executor([view_of(each) for each in arrays])]


def check(graph, arrays, executor=None):
    """The compiled graph against its references."""
    found = run(executor or executor_of(graph), arrays)
    for value, wanted, tensor in zip(found, evaluate(graph, *arrays), graph.outputs, strict=True):
        assert value.shape == wanted.shape
        assert_close(value, wanted, tensor.dtype, FACTOR)


def corners():
    """Graphs whose plans are unusual, by name."""
    x, y = symbol((4, 6)), symbol((4, 6))
    z = ops.relu(x)
    yield "an output is an input", [x], [x]
    yield "an output comes twice", [x], [z, z]
    yield "an output is another one under a new shape", [x], [z, ops.reshape(z, (6, 4))]
    yield "an output is an input under a new shape", [x], [ops.reshape(x, (24,))]
    yield "a view of a view", [x], [ops.reshape(ops.reshape(x, (3, 8)), (24,))]
    yield "only a view is an output", [x], [ops.reshape(ops.tanh(x), (2, 12))]
    yield "an input nobody reads", [x, y], [ops.tanh(y)]
    yield "inputs swapped", [x, y], [y, x]
    yield "nothing is read", [], [ops.full((2, 3), 4.0)]
    w = from_numpy(np.arange(6, dtype=np.float32))
    yield "an output is a constant", [x], [w, x + w]
    yield "an output comes of constants", [x], [ops.exp(w), x + ops.exp(w)]
    yield "a constant under a new shape", [x], [x + ops.reshape(w, (1, 6)), ops.reshape(w, (2, 3))]
    e = ops.exp(w)
    yield "a folded value and its view", [x], [x * e, x[:, :3] * ops.reshape(e, (2, 3))[0]]
    yield "two results", [x], list(ops.split(ops.relu(x), 2, 1))


def empties():
    """Graphs of tensors without elements, by name."""
    x, y = symbol((0, 6)), symbol((4, 0))
    yield "elementwise", [x], [ops.relu(x + 1.0)]
    yield "a sum of nothing", [y], [ops.sum(y, 1)]
    yield "a product over nothing", [y], [ops.matmul(y, ops.full((0, 3), 1.0))]
    yield "a product of no rows", [x], [ops.matmul(x, ops.full((6, 3), 1.0))]
    yield "joined with something", [x], [ops.concat([x, ops.full((2, 6), 1.0)])]
    yield "softmax", [x], [ops.softmax(x, 0)]


with tracing():  # constants are folded by the compiler, not here
    CORNERS = {name: trace_from(outs, ins) for name, ins, outs in (*corners(), *empties())}


@pytest.mark.parametrize("name", CORNERS)
def test_corner(name):
    graph = CORNERS[name]
    check(graph, arrays_for(graph))


def test_outputs_never_share_memory():
    x = symbol((4, 6))
    z = ops.relu(x)
    graph = trace_from([z, ops.reshape(z, (24,)), x, z], [x])
    array = np.ones((4, 6), np.float32)
    results = executor_of(graph)([view_of(array)])
    addresses = {view.pointer for view in results} | {array.__array_interface__["data"][0]}
    assert len(addresses) == len(results) + 1


def test_a_symbolic_batch_is_compiled_once_for_all_sizes():
    n = size_symbol("n")
    x, w = symbol((n, 8)), symbol((8, 5))
    y = ops.softmax(ops.relu(ops.matmul(x, w)) + 1.0)
    graph = trace_from([y, ops.sum(y, 0), ops.reshape(y, (n * 5,))], [x, w])
    executor = executor_of(graph)
    generator = np.random.default_rng(0)
    for size in (1, 2, 7, 64, 3):
        arrays = [generator.standard_normal(s).astype(np.float32) for s in ((size, 8), (8, 5))]
        check(graph, arrays, executor)


def test_integers_and_truth_values():
    x = symbol((3, 4), i64)
    graph = trace_from([ops.argmax(x, 1), ops.less(x, 0), ops.sum(x), x * 3], [x])
    check(graph, [np.arange(-6, 6).reshape(3, 4)])
