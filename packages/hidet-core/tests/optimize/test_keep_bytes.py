"""Bytes between operators that only compare them stay bytes."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.evaluate import evaluate
from hidet.optimize.precision.keep_bytes import keep_bytes
from hidet.testing.graph_passes import kinds

SHAPE = 2, 3, 13, 7


def points(scale, zero, dtype):
    """A scale and a zero point as an importer writes numbers."""
    return ops.full((), scale, "float32"), None if zero is None else ops.full((), zero, dtype)


def pooling(dtype="uint8", scale=0.3, zero=5, again=None, **window):
    """A largest element of dequantized bytes, quantized again."""
    with tracing():
        x = symbol(SHAPE, dtype)
        real = ops.dequantize(x, *points(scale, zero, dtype))
        largest = ops.max_pool(real, 3, **{"stride": 2, "padding": 1, **window})
        y = ops.quantize(largest, *points(*(again or (scale, zero)), dtype), dtype=dtype)
        return trace_from([y], [x])


def all_bytes(dtype):
    random = np.random.default_rng(0)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, SHAPE, endpoint=True).astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("zero", [None, 0, 5])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_the_largest_of_bytes_is_a_byte(dtype, zero, ceil_mode):
    graph = pooling(dtype, zero=zero, ceil_mode=ceil_mode)
    after = keep_bytes(graph)
    assert kinds(after) == ["max_pool"]
    x = all_bytes(dtype)
    np.testing.assert_array_equal(evaluate(after, x)[0], evaluate(graph, x)[0])


@pytest.mark.parametrize("scale", [2.0**-100, 0.0123, 1 / 3, 2.0**100])
@pytest.mark.parametrize("zero", [0, 7, 255])
def test_a_byte_that_is_dequantized_is_quantized_to_itself(scale, zero):
    """In float32, as kernels compute it."""
    x = np.arange(256, dtype=np.float32)
    real = (x - np.float32(zero)) * np.float32(scale)
    again = np.clip(np.rint(real / np.float32(scale)) + np.float32(zero), 0, 255)
    np.testing.assert_array_equal(again, x)


def test_another_scale_or_zero_point_makes_other_bytes():
    for again in ((0.4, 5), (0.3, 6)):
        graph = pooling(again=again)
        after = keep_bytes(graph)
        assert kinds(after).count("quantize") == 1
        assert kinds(after).index("max_pool") < kinds(after).index("dequantize")
        x = all_bytes("uint8")
        np.testing.assert_array_equal(evaluate(after, x)[0], evaluate(graph, x)[0])


@pytest.mark.parametrize(
    "graph",
    [
        lambda: pooling(scale=-0.3),
        lambda: pooling(scale=0.0),
        lambda: pooling(scale=2.0**-120),
        lambda: pooling(dilation=2),
    ],
    ids=["negative", "zero", "tiny", "dilated"],
)
def test_what_may_change_the_order_or_has_windows_of_padding_stays(graph):
    made = graph()
    assert keep_bytes(made) is made


def test_scales_that_are_weights_are_not_looked_at():
    with tracing():
        x = symbol(SHAPE, "uint8")
        how = from_numpy(np.array(0.3, np.float32)), ops.full((), 5, "uint8")
        y = ops.quantize(ops.max_pool(ops.dequantize(x, *how), 3), *how)
        graph = trace_from([y], [x])
    assert keep_bytes(graph) is graph
