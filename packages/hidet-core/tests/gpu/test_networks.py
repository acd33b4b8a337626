"""Small networks on the GPU: fusion, fast schedules, and calls one after the other."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph.flow import trace_from
from hidet.graph.tensor import symbol
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.types import f16, f32

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"


def values(shape, dtype, seed, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype.numpy)


def error(found, expected):
    wide = np.asarray(found).astype(np.float64)
    return np.linalg.norm(wide - expected) / np.linalg.norm(expected)


def run(graph, arrays, **options):
    executor = Executor(compile_graph(graph).archive, DEVICE, **options)
    return executor, [array_of(v) for v in executor([to_device(a, DEVICE) for a in arrays])]


def mlp(rows, inner, hidden, dtype):
    x, w, b, v = (
        symbol(shape, dtype, DEVICE)
        for shape in ((rows, inner), (inner, hidden), (hidden,), (hidden, inner))
    )
    graph = trace_from([ops.matmul(ops.relu(ops.matmul(x, w) + b), v)], [x, w, b, v])
    arrays = [
        values((rows, inner), dtype, 0),
        values((inner, hidden), dtype, 1, inner**-0.5),
        values((hidden,), dtype, 2),
        values((hidden, inner), dtype, 3, hidden**-0.5),
    ]
    xs, ws, bs, vs = (a.astype(np.float64) for a in arrays)
    return graph, arrays, np.maximum(xs @ ws + bs, 0) @ vs


@pytest.mark.parametrize("dtype", [f16, f32], ids=str)
@pytest.mark.parametrize("shape", [(1, 33, 129), (7, 64, 96), (128, 768, 3072), (129, 257, 31)])
def test_mlp(shape, dtype):
    graph, arrays, expected = mlp(*shape, dtype)
    _, (found,) = run(graph, arrays)
    assert error(found, expected) < (2e-3 if dtype is f16 else 2e-6)


def test_calls_with_other_memory_and_without_a_graph():
    graph, arrays, expected = mlp(16, 64, 48, f32)
    executor, (first,) = run(graph, arrays)
    moved = [to_device(a, DEVICE) for a in arrays]
    (second,) = executor(moved)
    third = run(graph, arrays, use_graph=False)[1][0]
    np.testing.assert_array_equal(first, array_of(second))
    np.testing.assert_array_equal(first, third)
    assert error(first, expected) < 2e-6


@pytest.mark.parametrize("dtype", [f16, f32], ids=str)
@pytest.mark.parametrize(
    ("channels", "size", "kernel", "stride"), [(3, 29, 7, 2), (64, 14, 3, 1), (32, 7, 1, 1)]
)
def test_convolution(channels, size, kernel, stride, dtype):
    x = symbol((2, channels, size, size), dtype, DEVICE)
    w = symbol((40, channels, kernel, kernel), dtype, DEVICE)
    pad = (kernel // 2, kernel // 2)
    y = ops.relu(ops.conv2d(x, w, stride=(stride, stride), padding=pad))
    graph = trace_from([y], [x, w])
    arrays = [
        values((2, channels, size, size), dtype, 0),
        values((40, channels, kernel, kernel), dtype, 1, (channels * kernel**2) ** -0.5),
    ]
    _, (found,) = run(graph, arrays)
    padded = np.pad(arrays[0].astype(np.float64), ((0, 0), (0, 0), pad, pad))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))
    sums = np.einsum("ncijhw,ochw->noij", windows[:, :, ::stride, ::stride], arrays[1])
    assert error(found, np.maximum(sums, 0)) < (2e-3 if dtype is f16 else 2e-6)
