"""Dilated convolutions, which TensorFlow spells by blocks, are convolutions with a dilation."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.graph import FlowGraph
from hidet.ops.windows.conv import Conv
from hidet.optimize import optimize
from hidet_tf.importing.imported import import_function

TAPS = np.random.default_rng(0).standard_normal((3, 2, 4, 5)).astype(np.float32)


def spelled(block: list[int], undone: list[int], stride: int = 1) -> FlowGraph:
    """The graph of a convolution between blocks of places and blocks of other places."""

    def run(x: tf.Tensor) -> tf.Tensor:
        apart = tf.raw_ops.SpaceToBatchND(input=x, block_shape=block, paddings=[[2, 2], [0, 3]])
        y = tf.nn.conv2d(apart, TAPS, stride, "VALID")
        return tf.raw_ops.BatchToSpaceND(input=y, block_shape=undone, crops=[[0, 1], [0, 1]])

    spec = tf.TensorSpec((None, 8, 9, 4))
    return import_function(tf.function(run).get_concrete_function(spec), "cpu").graph


def test_the_two_around_a_convolution_are_its_dilation() -> None:
    after = optimize(spelled([2, 3], [2, 3]))
    (conv,) = [node for node in after.nodes if isinstance(node.op, Conv)]
    assert conv.op.dilation == (2, 3)
    assert conv.op.padding == ((2, 2), (0, 3))
    assert not {"reshape", "pad"} & {node.op.name for node in after.nodes}


@pytest.mark.parametrize(
    ("block", "undone", "stride"), [([2, 3], [3, 2], 1), ([2, 3], [2, 3], 2)], ids=str
)
def test_others_stay(block: list[int], undone: list[int], stride: int) -> None:
    convs = [node.op for node in spelled(block, undone, stride).nodes if isinstance(node.op, Conv)]
    assert all(each.dilation == (1, 1) for each in convs)


@pytest.mark.parametrize(("padding", "step"), [("causal", 2), ("causal", 8), ("same", 3)])
def test_sequences_of_any_length(padding: str, step: int) -> None:
    """Keras pads them to a multiple of the step, which depends on the length."""
    keras.utils.set_random_seed(0)
    source = keras.Input((None, 3))
    layer = keras.layers.Conv1D(4, 2, padding=padding, dilation_rate=step)
    model = keras.Model(source, source[..., :1] + layer(source))
    compiled = hidet_tf.compile(model, options={"fallback": "error"})
    for length in (1, 2, 7, 129):
        x = np.random.default_rng(length).standard_normal((2, length, 3)).astype(np.float32)
        np.testing.assert_allclose(compiled(x), model(x), atol=1e-5)
    assert compiled.graph is not None
    (conv,) = [node.op for node in compiled.graph.nodes if isinstance(node.op, Conv)]
    assert conv.dilation == (1, step)
