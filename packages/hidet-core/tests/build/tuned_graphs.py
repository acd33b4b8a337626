"""Small graphs to tune, with weights."""

import numpy as np

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from

RANDOM = np.random.default_rng(3)


def constant(*shape, dtype="float32"):
    return from_numpy(RANDOM.uniform(-1, 1, shape).astype(dtype))


def dense(rows=24, inner=40, columns=36, dtype="float32"):
    x = symbol([rows, inner], dtype)
    result = ops.relu(x @ constant(inner, columns, dtype=dtype) + constant(columns, dtype=dtype))
    return trace_from(result, inputs=[x])


def convolution():
    x = symbol([1, 6, 10, 10])
    return trace_from(ops.conv2d(x, constant(8, 6, 3, 3), padding=1), inputs=[x])
