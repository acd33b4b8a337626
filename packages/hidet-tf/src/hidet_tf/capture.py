"""From what users compile to a ConcreteFunction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf


def captured(given: Any, specs: Sequence[Any]) -> Any:
    """The ConcreteFunction of a Keras model, a tf.function or a plain function.

    Whoever calls keeps `given`: a ConcreteFunction holds its variables weakly.
    """
    if hasattr(given, "function_type") and hasattr(given, "captured_inputs"):
        return given
    if isinstance(given, keras.Layer):
        inputs = given.inputs[0] if isinstance(given, keras.Sequential) else given.input
        specs = specs or (tf.nest.map_structure(spec_of, inputs),)
        traced = tf.function(lambda *args: given(*args, training=False), autograph=False)
        return traced.get_concrete_function(*specs)
    function = given if hasattr(given, "get_concrete_function") else tf.function(given)
    return function.get_concrete_function(*specs)


def spec_of(tensor: Any) -> tf.TensorSpec:
    """The spec of an input of a Keras model."""
    return tf.TensorSpec(tensor.shape, tensor.dtype, name=tensor.name)
