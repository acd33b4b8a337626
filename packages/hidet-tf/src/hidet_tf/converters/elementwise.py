"""Operators on single elements."""

from __future__ import annotations

from hidet import ops
from hidet_tf.converters.table import tf

tf.rows(
    {
        "Exp": ops.exp,
        "Tanh": ops.tanh,
        "Relu": ops.relu,
        "Sigmoid": ops.sigmoid,
        "AddV2": ops.add,
        "Sub": ops.subtract,
        "Mul": ops.multiply,
    }
)
