"""What graph passes merge and fold, compiled and run on the host and on the GPU."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.target import target_of_device
from hidet.graph import evaluate, symbol, trace_from
from hidet.runtime.binding.memory import array_of, to_device, view_of
from hidet.runtime.executor import Executor
from hidet.testing.graph_passes import weight
from hidet.types import dtype

DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)]
ROWS, WIDTH, HEADS, HIDDEN = 33, 48, 3, 80


def run(graph, arrays, device):
    """The outputs of a graph with constants, compiled for a device."""

    def placed(array):
        return view_of(array) if device == "cpu" else to_device(array, device)

    compiled = compile_graph(graph, target_of_device(device))
    weights = {name: placed(tensor.numpy()) for name, tensor in compiled.weights.items()}
    executor = Executor(compiled.archive, device, weights=weights)
    return [np.asarray(array_of(view)) for view in executor([placed(each) for each in arrays])]


def linear(x, width):
    """A linear layer with made-up weights of the type of `x`."""
    depth = x.shape[-1]
    bound = float(depth) ** -0.5
    parts = weight(width, depth, low=-bound, high=bound), weight(width)
    return ops.linear(x, *(ops.cast(each, x.dtype) for each in parts))


def heads(x):
    """Rows of one head after the other."""
    return ops.permute(ops.reshape(x, (1, ROWS, HEADS, -1)), (0, 2, 1, 3))


def block(x):
    """A block of a language model: attention spelled out, norms, a gated layer; two results."""
    normed = ops.rms_norm(x, ops.cast(weight(WIDTH), x.dtype))
    q, k, v = (heads(linear(normed, WIDTH)) for _ in range(3))
    weights = ops.softmax(ops.matmul(q, ops.transpose(k)) * 0.25)
    joined = ops.reshape(ops.permute(ops.matmul(weights, v), (0, 2, 1, 3)), (1, ROWS, WIDTH))
    total = ops.relu(joined) + x
    normed = ops.layer_norm(total)
    gate = ops.silu(linear(normed, HIDDEN)) * linear(normed, HIDDEN)
    return linear(gate, WIDTH) + total, total


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("kind", "most"), [("float32", 2e-6), ("float16", 4e-3)])
def test_a_block_of_a_language_model(kind, most, device):
    x = symbol((1, ROWS, WIDTH), kind)
    graph = trace_from(list(block(x)), [x])
    random = np.random.default_rng(3)
    array = random.standard_normal((1, ROWS, WIDTH)).astype(dtype(kind).numpy)
    for found, wanted in zip(run(graph, [array], device), evaluate(graph, array), strict=True):
        error = np.linalg.norm(found.astype(np.float64) - wanted) / np.linalg.norm(wanted)
        assert error < most


@pytest.mark.parametrize("device", DEVICES)
def test_branches_of_a_convolutional_network(device):
    x = symbol((1, 12, 9, 7))

    def branch(x, channels, size=1):
        y = ops.conv2d(x, weight(channels, x.shape[1], size, size), padding=size // 2)
        return ops.relu(ops.batch_norm(y, weight(channels), weight(channels, low=0.5)))

    made = [branch(x, 5), branch(branch(x, 7), 6, 3), branch(x, 3)]
    graph = trace_from([ops.concat(made, 1)], [x])
    array = np.random.default_rng(4).standard_normal((1, 12, 9, 7)).astype(np.float32)
    (found,), (wanted,) = run(graph, [array], device), evaluate(graph, array)
    assert np.linalg.norm(found - wanted) / np.linalg.norm(wanted) < 2e-6
