"""Matmuls and convolutions of dequantized operands are computed on the integers."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.evaluate import evaluate
from hidet.optimize import optimize
from hidet.optimize.precision.integer_matmuls import integer_matmuls
from hidet.testing.graph_passes import kinds, weight

RNG = np.random.default_rng(7)


def scalar(value, dtype):
    return from_numpy(np.array(value, dtype))


def through_bytes(x, scale, zero, dtype=np.uint8):
    """x quantized and dequantized."""
    how = scalar(scale, np.float32), scalar(zero, dtype)
    return ops.dequantize(ops.quantize(x, *how), *how)


def weights(shape, axis, dtype=np.int8, zero=0):
    """Dequantized bytes, with a scale and a zero point for each place on an axis."""
    info = np.iinfo(dtype)
    whole = RNG.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    scales = RNG.uniform(0.001, 0.02, shape[axis]).astype(np.float32)
    zeros = np.full(shape[axis], zero, dtype)
    return ops.dequantize(*map(from_numpy, (whole, scales, zeros)), axis=axis)


def network(zero, weight_zero, weight_dtype, padding=1, groups=1):
    """A convolution, one of single places with a residual, and a linear layer."""
    with tracing():
        x = symbol((2, 8, 7, 5))
        y = through_bytes(x, 0.02, zero)
        first = weights((12, 8 // groups, 3, 3), 0, weight_dtype, weight_zero)
        y = ops.relu(ops.conv(y, first, weight(12), padding=padding, groups=groups))
        y = through_bytes(y, 0.1, 0)
        second = weights((12, 12, 1, 1), 0, weight_dtype, weight_zero)
        y = through_bytes(ops.relu(ops.conv(y, second) + y), 0.2, 3)
        y = through_bytes(ops.mean(y, (2, 3)), 0.1, 9)
        y = ops.linear(y, weights((5, 12), 0, weight_dtype, weight_zero), weight(5))
        return trace_from([y], [x])


CASES = [
    (0, 0, np.int8, 1, 1),
    (3, 0, np.int8, 1, 1),
    (3, 128, np.uint8, 1, 1),
    (3, 131, np.uint8, 2, 1),
    (200, -5, np.int8, 0, 1),
    (7, 2, np.int8, 1, 4),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_result_is_that_of_the_definition(case):
    graph = network(*case)
    after = integer_matmuls(graph, lambda op, other: True)
    assert [name for name in kinds(after) if name == "linear"] == []
    assert all(node.op.dtype is not None for node in after.nodes if node.op.name == "conv")
    x = RNG.standard_normal((2, 8, 7, 5)).astype(np.float32)
    (expected,), (found,) = evaluate(graph, x), evaluate(after, x)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled_it_is_within_a_step_where_a_quotient_is_a_tie(case):
    graph = network(*case)
    x = RNG.standard_normal((2, 8, 7, 5)).astype(np.float32)
    (expected,) = evaluate(graph, x)
    found = graph.build()(from_numpy(x)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3 * np.abs(expected).max())


def test_what_follows_is_in_the_kernels_of_the_convolutions():
    explained = network(0, 0, np.int8).explain("cpu+avx512+vnni")
    main = explained.partition("main:")[2]
    anchors = [line for line in main.splitlines() if "anchor" in line]
    assert len(anchors) == 3
    assert all("conv" not in line or "panels" in line for line in anchors)
    assert "conv_cast_multiply_add_relu" in main


def test_zero_points_are_part_of_the_graph():
    """A compiled graph is used again for other constants."""
    x = RNG.standard_normal((2, 8, 7, 5)).astype(np.float32)
    for zero in (0, 3, 9):
        graph = network(zero, 0, np.int8)
        (expected,) = evaluate(graph, x)
        found = graph.build()(from_numpy(x)).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_where_floats_are_faster_it_stays():
    graph = network(0, 0, np.int8)
    assert integer_matmuls(graph, lambda op, other: False) is graph
    assert "dequantize" in kinds(optimize(graph))


def test_a_scale_along_what_is_summed_up_stays():
    with tracing():
        x = symbol((4, 6))
        y = ops.linear(through_bytes(x, 0.1, 0), weights((5, 6), 1))
        z = ops.matmul(through_bytes(x, 0.1, 0), weights((6, 5), 0))
    graph = trace_from([y, z], [x])
    assert integer_matmuls(graph, lambda op, other: True) is graph


def test_rows_may_have_scales_of_their_own():
    with tracing():
        x, scale = symbol((4, 6)), symbol((4,))
        whole = ops.quantize(x, scale, dtype="int8", axis=0)
        rows = ops.dequantize(whole, scale, axis=0)
        graph = trace_from([ops.matmul(rows, weights((6, 5), 1))], [x, scale])
    after = integer_matmuls(graph, lambda op, other: True)
    assert after is not graph
    arrays = RNG.standard_normal((4, 6)), RNG.uniform(0.01, 0.02, 4)
    arrays = [each.astype(np.float32) for each in arrays]
    (expected,), (found,) = evaluate(graph, *arrays), evaluate(after, *arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
