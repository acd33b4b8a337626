"""Signed bytes that are only dequantized again are quantized to unsigned ones."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.evaluate import evaluate
from hidet.optimize.precision.unsigned_bytes import unsigned_bytes
from hidet.testing.graph_passes import weight
from hidet.types import i8, u8

SHAPE = 2, 3, 13, 7
RNG = np.random.default_rng(3)


def points(scale, zero, device="cpu"):
    """A scale and a zero point as an importer writes numbers."""
    zero_point = None if zero is None else ops.full((), zero, "int8", device=device)
    return ops.full((), scale, "float32", device=device), zero_point


def bytes_of(x, zero, device="cpu"):
    return ops.quantize(x, *points(0.05, zero, device), dtype="int8")


def quantized_types(graph):
    return [node.op.dtype for node in graph.nodes if node.op.name == "quantize"]


@pytest.mark.parametrize("zero", [-128, -3, 5, 127, 0, None])
def test_reals_stay_as_they_were(zero):
    """Beyond the ends of the range too, and of what is no number."""
    with tracing():
        x = symbol(SHAPE)
        made = bytes_of(x, zero)
        y = ops.dequantize(made, *points(0.05, zero))
        z = ops.dequantize(made, *points(0.25, -7))  # about another number, by another scale
        graph = trace_from([y, z], [x])
    after = unsigned_bytes(graph)
    assert quantized_types(after) == [u8]
    given = (RNG.standard_normal(SHAPE) * 6).astype(np.float32)
    given.flat[:3] = np.inf, -np.inf, 1e30
    for expected, found in zip(evaluate(graph, given), evaluate(after, given), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_on_a_gpu_bytes_without_a_zero_point_stay():
    for zero, expected in ((0, i8), (None, i8), (-128, u8)):
        with tracing():
            x = symbol(SHAPE, device="cuda")
            y = ops.dequantize(bytes_of(x, zero, "cuda"), *points(0.05, zero, "cuda"))
            graph = trace_from([y], [x])
        assert quantized_types(unsigned_bytes(graph)) == [expected]


def test_what_others_read_or_nobody_knows_stays():
    with tracing():
        x = symbol(SHAPE)
        returned = bytes_of(x, -128)
        given = ops.quantize(x, weight(low=0.01), from_numpy(np.array([1, 2, 3], np.int8)))
        added = bytes_of(x, -2)
        outputs = [
            returned,
            ops.dequantize(returned, *points(0.05, -128)),
            ops.dequantize(given, weight(low=0.01), from_numpy(np.array([1, 2, 3], np.int8))),
            ops.dequantize(added, *points(0.05, -2)) + ops.cast(added, "float32"),
        ]
        graph = trace_from(outputs, [x])
    assert unsigned_bytes(graph) is graph


@pytest.mark.parametrize("channels", [3, 16])
@pytest.mark.parametrize("zero", [-128, 0, 9])
def test_compiled_convolutions_of_signed_bytes_are_those_of_the_definition(zero, channels):
    with tracing():
        x = symbol((2, channels, 9, 11))
        y = ops.dequantize(bytes_of(x, zero), *points(0.05, zero))
        whole = RNG.integers(-128, 127, (20, channels, 3, 3)).astype(np.int8)
        by = ops.dequantize(from_numpy(whole), ops.full((), 0.01, "float32"))
        graph = trace_from([ops.conv2d(y, by, padding=1)], [x])
    given = RNG.standard_normal((2, channels, 9, 11)).astype(np.float32)
    (expected,) = evaluate(graph, given)
    found = graph.build()(from_numpy(given)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
