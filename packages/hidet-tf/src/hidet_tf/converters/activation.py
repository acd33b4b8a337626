"""Activations."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet_tf.converters.table import tf

tf.rows(
    {
        "Relu": ops.relu, "Relu6": ops.relu6, "Elu": ops.elu, "Selu": ops.selu,
        "Sigmoid": ops.sigmoid, "Tanh": ops.tanh, "Softsign": ops.softsign,
        "Softmax": ops.softmax, "LogSoftmax": ops.log_softmax,
    }
)  # fmt: skip


@tf("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float) -> Tensor:
    """x, times alpha where negative."""
    return ops.leaky_relu(x, alpha)


@tf("Softplus")
def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x))."""
    return ops.softplus(x, threshold=40.0)
