"""Operators are said to be at the user's line, or in the layer's scope."""

from pathlib import Path

import keras
import tensorflow as tf

from hidet_tf.importing.place import place_of
from hidet_tf.importing.walk import Node, walk


@tf.function
def squared(x: tf.Tensor) -> tf.Tensor:
    return x * x  # the line of Mul


def nodes(concrete: object) -> dict[str, Node]:
    """The nodes of a function by their operators' types."""
    return {node.op.type: node for node in walk(concrete.graph)}


def test_the_line_of_the_user_within_called_functions_too() -> None:
    concrete = tf.function(lambda x: squared(x) + 1.0).get_concrete_function(tf.TensorSpec((2,)))
    found = {name: place_of(node) for name, node in nodes(concrete).items()}
    lines = Path(__file__).read_text().splitlines()
    assert found["Mul"].file == found["AddV2"].file == __file__
    assert "the line of Mul" in lines[found["Mul"].line - 1]
    assert found["Mul"].function == "squared"
    assert "squared(x) + 1.0" in lines[found["AddV2"].line - 1]


class Doubled(keras.layers.Layer):
    def call(self, x):
        return x + x  # the line of AddV2


def test_a_users_layer_has_a_line_and_kerass_own_a_scope() -> None:
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(2, name="last")(Doubled()(inputs)))
    traced = tf.function(lambda x: model(x))
    found = nodes(traced.get_concrete_function(tf.TensorSpec((None, 3))))
    lines = Path(__file__).read_text().splitlines()
    assert "the line of AddV2" in lines[place_of(found["AddV2"]).line - 1]
    dense = place_of(found["MatMul"])
    assert "last" in dense.node or "model(x)" in lines[dense.line - 1]
