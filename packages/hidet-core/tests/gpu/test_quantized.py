"""Blocks of a residual network in bytes, on the GPU as on the CPU: what is rounded twice may be a
step apart where a quotient is next to a tie, and nowhere else."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.target import Target

DEVICE = "cuda:0"


def how(scale, zero):
    """A scale and a zero point as an importer writes numbers."""
    return ops.full((), scale, "float32"), ops.full((), zero, "uint8")


def through_bytes(x, scale, zero=0):
    return ops.dequantize(ops.quantize(x, *how(scale, zero)), *how(scale, zero))


def convolution(random, x, channels, window=1, stride=1):
    """Of bytes by bytes, with a scale for each channel: numbers of moderate size."""
    taps = random.integers(-127, 128, (channels, x.shape[1], window, window)).astype(np.int8)
    size = np.sqrt(2 / taps[0].size) / 73
    scales = random.uniform(0.5 * size, 1.5 * size, channels).astype(np.float32)
    weight = ops.dequantize(from_numpy(taps), from_numpy(scales), axis=0)
    shift = from_numpy(random.uniform(-0.2, 0.2, channels).astype(np.float32))
    return ops.conv(x, weight, shift, stride=stride, padding=window // 2)


def first_layer(random, batch, size):
    x = symbol((batch, 3, size, size))
    y = ops.relu(convolution(random, through_bytes(x, 0.04, 133), 64, 7, 2))
    y = ops.max_pool(through_bytes(y, 0.02), 3, stride=2, padding=1)
    return x, ops.quantize(y, *how(0.02, 0))


def bottleneck(random, batch, size, channels, inner, stride=1):
    """The last convolution is added to x, or to a convolution of it."""
    x = symbol((batch, channels, size, size), "uint8")
    real = ops.dequantize(x, *how(0.0103, 0))
    y = through_bytes(ops.relu(convolution(random, real, inner)), 0.011)
    y = through_bytes(ops.relu(convolution(random, y, inner, 3, stride)), 0.012)
    y = through_bytes(convolution(random, y, 4 * inner), 0.02, 122)
    if channels != 4 * inner:
        real = through_bytes(convolution(random, real, 4 * inner, 1, stride), 0.03, 131)
    return x, ops.quantize(ops.relu(y + real), *how(0.0171, 0))


BLOCKS = {
    "first layer": (first_layer, (4, 224)),
    "first layer, odd": (first_layer, (3, 37)),
    "64": (bottleneck, (4, 56, 64, 64)),
    "256": (bottleneck, (4, 56, 256, 64)),
    "256, a step": (bottleneck, (5, 28, 256, 128, 2)),
    "512, odd": (bottleneck, (3, 13, 512, 128)),
    "1024": (bottleneck, (8, 14, 1024, 256)),
    "2048": (bottleneck, (8, 7, 2048, 512)),
}


def block(name):
    make, sizes = BLOCKS[name]
    with tracing():
        x, y = make(np.random.default_rng(0), *sizes)
        return trace_from([y], [x]), x


def given(x):
    random = np.random.default_rng(1)
    if x.dtype.is_float:
        return random.standard_normal(x.shape).astype(np.float32)
    return random.integers(0, 256, x.shape).astype(np.uint8)


@pytest.mark.gpu
@pytest.mark.parametrize("name", BLOCKS)
def test_the_gpu_computes_what_the_cpu_does(name):
    graph, x = block(name)
    array = given(x)
    compiled = compile_graph(graph, Target.parse("sm_90a"))
    weights = {each: to_device(t.numpy(), DEVICE) for each, t in compiled.weights.items()}
    executor = Executor(compiled.archive, DEVICE, weights=weights)
    found = array_of(executor([to_device(array, DEVICE)])[0]).astype(np.int32)
    expected = graph.build("cpu")(from_numpy(array)).numpy().astype(np.int32)
    apart = np.abs(found - expected)
    assert expected.std() > 5
    assert (apart > 3).mean() == 0, f"{apart.max()} steps apart"
    assert (apart > 0).mean() < 1e-2


def test_the_numbers_use_the_bytes():
    """On the CPU: a block that is all zeros or all saturated would prove nothing."""
    for name in ("first layer, odd", "512, odd"):
        graph, x = block(name)
        found = graph.build("cpu")(from_numpy(given(x))).numpy()
        assert found.std() > 5
        assert (found == 255).mean() < 0.2
