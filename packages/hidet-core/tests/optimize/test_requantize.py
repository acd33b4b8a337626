"""What is quantized is computed in units of its scale, and is what the definition says."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.evaluate import evaluate
from hidet.optimize.precision.requantize import requantize
from hidet.testing.graph_passes import kinds

ROWS, COLUMNS = 129, 7
RANDOM = np.random.default_rng(0)
FACTOR = RANDOM.uniform(0.001, 0.002, COLUMNS).astype(np.float32)
BIAS = RANDOM.standard_normal(COLUMNS).astype(np.float32)
SUMS = RANDOM.integers(-5000, 5000, (ROWS, COLUMNS), dtype=np.int32)
BYTES = RANDOM.integers(0, 256, (ROWS, COLUMNS)).astype(np.uint8)
SCALE = 0.037


def number(value):
    return ops.full((), value, "float32")


def graph(make, scale=SCALE, zero=None):
    """A graph of sums and bytes that quantizes what is made of them."""
    with tracing():
        sums, bytes_ = symbol(SUMS.shape, "int32"), symbol(BYTES.shape, "uint8")
        real = ops.cast(sums, "float32") * from_numpy(FACTOR) + from_numpy(BIAS)
        made = make(real, ops.dequantize(bytes_, number(0.021)))
        by = scale if scale is None else number(scale)
        by = from_numpy(np.float32([SCALE])) if by is None else by
        point = None if zero is None else ops.full((), zero, "uint8")
        return trace_from([ops.quantize(made, by, point)], [sums, bytes_])


def of_sums(real, other):
    return real


def with_a_shortcut(real, other):
    return ops.relu(other + real)


def twice(real, other):
    return ops.dequantize(ops.quantize(real, number(0.05)), number(0.05)) - other


def exactly(make, zero):
    """The result in float64, in which a rounding is one of a tie only where operands say so."""
    real = SUMS * FACTOR.astype(np.float64) + BIAS
    other = BYTES * np.float64(np.float32(0.021))
    if make is twice:
        step = np.float64(np.float32(0.05))
        real = np.clip(np.rint(real / step), 0, 255) * step - other
    elif make is with_a_shortcut:
        real = np.maximum(real + other, 0)
    found = np.rint(real / np.float64(np.float32(SCALE))) + (zero or 0)
    return np.clip(found, 0, 255)


@pytest.mark.parametrize("zero", [None, 3])
@pytest.mark.parametrize("make", [of_sums, with_a_shortcut, twice], ids=lambda each: each.__name__)
def test_no_element_is_divided(make, zero):
    before = graph(make, zero=zero)
    after = requantize(before)
    scales = [node.inputs[1] for node in after.nodes if node.op.name == "quantize"]
    assert all(each.trace is not None and each.trace[0].op.value == 1 for each in scales)
    (found,) = evaluate(after, SUMS, BYTES)
    np.testing.assert_array_equal(found, exactly(make, zero))


def test_numbers_stay_numbers():
    after = requantize(graph(with_a_shortcut))
    (shortcut,) = [node for node in after.nodes if node.op.name == "dequantize"]
    expected = float(np.float32(0.021) / np.float32(SCALE))
    assert shortcut.inputs[1].trace[0].op.value == pytest.approx(expected, rel=1e-7)


def test_a_power_of_two_changes_no_bit():
    before = graph(with_a_shortcut, scale=2.0**-5)
    after = requantize(before)
    assert after is not before
    np.testing.assert_array_equal(evaluate(after, SUMS, BYTES)[0], evaluate(before, SUMS, BYTES)[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda real, other: ops.tanh(real),
        lambda real, other: real * real,
        lambda real, other: ops.cast(ops.cast(real, "float16"), "float32"),
    ],
)
def test_what_is_no_product_of_a_constant_stays(make):
    before = graph(make)
    assert requantize(before) is before


@pytest.mark.parametrize("scale", [None, 1.0, 0.0, -0.5, 2.0**-120, float("inf"), float("nan")])
def test_scales_that_are_unknown_or_nothing_to_divide_by_stay(scale):
    before = graph(of_sums, scale=scale)
    assert requantize(before) is before


def test_what_others_read_is_not_computed_again():
    with tracing():
        sums = symbol(SUMS.shape, "int32")
        real = ops.cast(sums, "float32") * from_numpy(FACTOR)
        before = trace_from([ops.quantize(real, number(SCALE)), ops.exp(real)], [sums])
    assert requantize(before) is before
    assert "divide" not in kinds(before)


def test_a_long_chain_stays():
    def long(real, other):
        for _ in range(5000):
            real = real + from_numpy(BIAS)
        return real

    before = graph(long)
    assert requantize(before) is before
