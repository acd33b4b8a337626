"""Calls are inlined, only what is live is walked, in program order."""

import tensorflow as tf

from hidet_tf.importing.walk import walk


@tf.function
def inner(x: tf.Tensor) -> tf.Tensor:
    tf.exp(x)  # nobody reads it
    return tf.tanh(x)


@tf.function
def outer(x: tf.Tensor) -> tf.Tensor:
    return inner(inner(x)) + 1.0


def test_calls_are_inlined_and_the_dead_left_out() -> None:
    graph = outer.get_concrete_function(tf.TensorSpec((2,))).graph
    nodes = [node for node in walk(graph) if node.op.type not in ("Const", "Identity")]
    assert [node.op.type for node in nodes] == ["Tanh", "Tanh", "AddV2"]
    assert [len(node.outer) for node in nodes] == [1, 1, 0]
    assert nodes[0].outer != nodes[1].outer


def test_effects_are_live() -> None:
    counter = tf.Variable(1.0)

    @tf.function
    def count(x: tf.Tensor) -> tf.Tensor:
        counter.assign_add(1.0)
        return x

    graph = count.get_concrete_function(tf.TensorSpec(())).graph
    assert "AssignAddVariableOp" in [node.op.type for node in walk(graph)]
