"""Numbers rounded as quantisation would: still floats, on a grid of so many steps."""

from __future__ import annotations

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import f32
from hidet_tf.converters.table import tf


@tf("FakeQuantWithMinMaxArgs")
def fake_quant_args(
    x: Tensor, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Tensor:
    """x on a grid between two numbers that the model fixes."""
    low, high = (ops.full((), each, f32, device=x.device) for each in (min, max))
    return fake_quant(x, low, high, num_bits=num_bits, narrow_range=narrow_range)


@tf("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant(
    x: Tensor, low: Tensor, high: Tensor, *, num_bits: int, narrow_range: bool
) -> Tensor:
    """x on a grid between two numbers, or two for each of the last axis; 0 is on the grid."""
    least, most = float(narrow_range), float(2**num_bits - 1)
    scale = ops.divide(ops.subtract(high, low), most - least)
    zero = ops.subtract(least, ops.divide(low, scale))
    nudged = ops.floor(ops.add(ops.clamp(zero, least, most), 0.5))
    begin = ops.multiply(ops.subtract(least, nudged), scale)
    end = ops.multiply(ops.subtract(most, nudged), scale)
    inside = ops.minimum(ops.maximum(x, begin), end)
    steps = ops.floor(ops.add(ops.divide(ops.subtract(inside, begin), scale), 0.5))
    found = ops.add(ops.multiply(steps, scale), begin)
    return ops.where(ops.logical_and(ops.equal(low, 0.0), ops.equal(high, 0.0)), 0.0, found)


@tf("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(
    x: Tensor, low: Tensor, high: Tensor, *, signed_input: bool, num_bits: int, range_given: bool,
    round_mode: str, narrow_range: bool, axis: int,
) -> Tensor:  # fmt: skip
    """x on a symmetric grid that holds the range given, or that of x, along an axis if that is
    not -1."""
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise NotYet(f"the round mode {round_mode!r}")
    if not range_given:
        axes = None if axis == -1 else tuple(a for a in range(x.ndim) if a != axis)
        low, high = ops.min(x, axes), ops.max(x, axes)
    if axis != -1:
        low, high = (ops.reshape(e, (-1, *(1,) * (x.ndim - 1 - axis))) for e in (low, high))
    least = float(-(2 ** (num_bits - 1)) + narrow_range) if signed_input else 0.0
    most = float(2 ** (num_bits - signed_input) - 1)
    scale = scale_of(low, high, least, most)
    begin, end = ops.divide(least, scale), ops.divide(most, scale)
    inside = ops.minimum(ops.maximum(x, begin), end) if range_given else x
    real = ops.multiply(inside, scale)
    whole = ops.round(real) if round_mode == "HALF_TO_EVEN" else ops.floor(ops.add(real, 0.5))
    return ops.divide(ops.minimum(ops.maximum(whole, least), most), scale)


def scale_of(low: Tensor, high: Tensor, least: float, most: float) -> Tensor:
    """How many steps there are to one, so that the range is within the grid's."""
    below = ops.where(ops.greater(ops.multiply(low, least), 0.0), ops.divide(least, low), FAR)
    above = ops.where(ops.greater(ops.multiply(high, most), 0.0), ops.divide(most, high), FAR)
    return ops.cast(ops.minimum(below, above), low.dtype)


FAR = 3.4028234663852886e38
"""The largest float32: a bound that bounds nothing."""
