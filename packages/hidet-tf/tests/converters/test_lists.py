"""TensorLists, by TensorArrays that are no part of a loop and by those that loops carry."""

import numpy as np
import tensorflow as tf

from hidet.optimize import optimize

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def test_elements_set_and_read(check) -> None:
    def function(x):
        array = tf.TensorArray(x.dtype, 4).write(2, x).write(0, x * 2)
        return array.read(2), array.stack(), array.gather([2, 0, 3]), array.size()

    check(function, random(3))


def test_a_list_that_grows(check) -> None:
    def function(x):
        array = tf.TensorArray(x.dtype, 0, dynamic_size=True)
        for number in range(3):
            array = array.write(number, x * number)
        return array.stack(), array.size()

    check(function, random(3))


def test_a_list_of_rows_and_of_parts(check) -> None:
    def function(x):
        rows = tf.TensorArray(x.dtype, 4).unstack(x)
        parts = tf.TensorArray(x.dtype, 2).split(x, [2, 2])
        return rows.read(1), rows.concat() if x.shape.rank > 2 else rows.stack(), parts.read(1)

    check(function, random(4, 3))
    check(function, random(4, 3, 2))


def test_elements_pushed_and_popped(check) -> None:
    def function(x):
        given = tf.raw_ops.EmptyTensorList(
            element_shape=[3], max_num_elements=-1, element_dtype=x.dtype
        )
        for factor in (1, 2, 3):
            item = x * factor
            given = tf.raw_ops.TensorListPushBack(input_handle=given, tensor=item)
        given, last = tf.raw_ops.TensorListPopBack(
            input_handle=given, element_shape=[3], element_dtype=x.dtype
        )
        rest = tf.raw_ops.TensorListStack(
            input_handle=given, element_shape=[3], element_dtype=x.dtype
        )
        return last, rest

    check(function, random(3))


def test_elements_that_nobody_set_are_zero(check) -> None:
    def function(x):
        array = tf.TensorArray(x.dtype, 3, element_shape=(2,))
        return array.stack() + x

    check(function, random(2))


def test_a_loop_sets_elements_where_the_list_lies(check) -> None:
    """The shape of elements is known only once the loop sets the first one."""

    def function(x):
        array = tf.TensorArray(x.dtype, 7)
        _, array = tf.while_loop(
            lambda i, array: i < 7,
            lambda i, array: (i + 1, array.write(6 - i, x * tf.cast(i, x.dtype))),
            (0, array),
        )
        return array.stack()

    compiled = check(function, random(3))
    (loop,) = [each.op for each in compiled.graph.nodes if each.op.name == "loop"]
    assert [each.shape for each in loop.carried] == [(7, 3)]
    graph = optimize(compiled.graph)
    bodies = [each.op.body.graph for each in graph.nodes if each.op.name == "loop"]
    assert all(any(getattr(each.op, "in_place", False) for each in g.nodes) for g in bodies)


def test_a_branch_sets_an_element(check) -> None:
    def function(x, flag):
        array = tf.TensorArray(x.dtype, 2, element_shape=(3,)).write(0, x)
        if flag:
            array = array.write(1, x * 2)
        return array.stack()

    for flag in (True, False):
        check(function, random(3), flag)
