"""Activations."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats

raw = tf.raw_ops
ANY = np.concatenate([np.array([[np.nan, 30, -30, -0.0, 0.0, 88]], np.float32), floats(7, 6)])

CASES = [
    *(case(name, lambda x, name=name: getattr(raw, name)(features=x), ANY) for name in (
        "Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign")),
    *(case(name, lambda x, name=name: getattr(raw, name)(x=x), ANY) for name in (
        "Sigmoid", "Tanh")),
    case("LeakyRelu", lambda x: raw.LeakyRelu(features=x, alpha=0.3), ANY),
    case("Softmax", tf.nn.softmax, floats(7, 13)),
    case("Softmax-axis", lambda x: tf.nn.softmax(x, 1), floats(3, 7, 2)),
    case("Softmax-nothing", tf.nn.softmax, np.full((2, 3), -np.inf, np.float32)),
    case("LogSoftmax", tf.nn.log_softmax, floats(7, 13)),
    case("gelu", tf.nn.gelu, floats(7, 13)),
    case("silu", tf.nn.silu, floats(7, 13)),
]  # fmt: skip
