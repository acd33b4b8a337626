"""Dilated convolutions, which TensorFlow spells by blocks, are convolutions with a dilation."""

import numpy as np
import pytest
import tensorflow as tf

from hidet.graph import FlowGraph
from hidet.ops.conv import Conv
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
