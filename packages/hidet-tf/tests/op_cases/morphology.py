"""Dilation and erosion by a structure."""

import tensorflow as tf

from op_cases.case import case, floats

X, STRUCTURE = floats(2, 9, 7, 3), floats(3, 2, 3)


def dilated(padding, strides=(1, 1, 1, 1), rates=(1, 1, 1, 1)):
    """A dilation of an image by a structure."""
    return lambda x, f: tf.nn.dilation2d(x, f, strides, padding, "NHWC", rates)


CASES = [
    case("Dilation2D", dilated("VALID"), X, STRUCTURE, is_open=False),
    case("Dilation2D-same", dilated("SAME"), X, STRUCTURE, is_open=False),
    case("Dilation2D-strides", dilated("SAME", (1, 2, 3, 1)), X, STRUCTURE, is_open=False),
    case("Dilation2D-rates", dilated("VALID", (1, 2, 1, 1), (1, 2, 3, 1)), X, STRUCTURE,
         is_open=False),
    case("erosion2d", lambda x: tf.nn.erosion2d(
        x, tf.constant(STRUCTURE[::-1], x.dtype), (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1)), X),
]  # fmt: skip
