"""Assignments in functions: values in the program's order, written after the call."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.errors import BadArgument, UnsupportedOp

ERROR = {"fallback": "error"}


def test_a_counter_counts_calls() -> None:
    count = tf.Variable(0)

    @tf.function
    def function(x):
        before = count + 0
        count.assign_add(1)
        return x * tf.cast(count, x.dtype), before

    compiled = hidet_tf.compile(function, tf.TensorSpec((3,)), options=ERROR)
    x = np.arange(3, dtype=np.float32)
    for number in range(3):
        found, before = compiled(x)
        assert np.array_equal(found, x * (number + 1))
        assert int(before) == number
        assert int(count) == number + 1
    count.assign(10)
    assert int(compiled(x)[1]) == 10


def test_a_variable_is_written_and_read_in_turns() -> None:
    state, other = tf.Variable([1.0, 2.0]), tf.Variable([5.0, 5.0])

    @tf.function
    def function(x):
        state.assign(state * 2 + x)
        first = state + other
        other.assign_sub(x)
        state.assign_add(other)
        return first

    x = np.array([0.5, -1], np.float32)
    compiled = hidet_tf.compile(function, tf.TensorSpec((2,)), options=ERROR)
    a, b = state.numpy(), other.numpy()
    for _ in range(3):
        a = a * 2 + x
        first = a + b
        b = b - x
        a = a + b
        np.testing.assert_allclose(compiled(x), first, rtol=1e-6)
        np.testing.assert_allclose(state, a, rtol=1e-6)
        np.testing.assert_allclose(other, b, rtol=1e-6)


def test_results_that_variables_keep_are_not_written_by_later_calls() -> None:
    last = tf.Variable([0.0, 0.0])

    @tf.function
    def function(x):
        last.assign(x * 2)
        return x * 2

    compiled = hidet_tf.compile(function, tf.TensorSpec((2,)), options=ERROR)
    first = compiled(np.ones(2, np.float32))
    kept = last.read_value()
    compiled(np.zeros(2, np.float32))
    assert np.array_equal(first, [2, 2])
    assert np.array_equal(kept, [2, 2])
    assert np.array_equal(last, [0, 0])


def test_batch_statistics_that_a_function_updates() -> None:
    layer = keras.layers.BatchNormalization(momentum=0.5)
    layer.build((None, 3))
    function = tf.function(lambda x: layer(x, training=True))
    compiled = hidet_tf.compile(function, tf.TensorSpec((5, 3)), options=ERROR)
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    weights = layer.get_weights()
    meant = layer(x, training=True)
    after = layer.get_weights()
    layer.set_weights(weights)
    np.testing.assert_allclose(compiled(x), meant, rtol=1e-5, atol=1e-5)
    for one, other in zip(layer.get_weights(), after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_loops_and_branches_assign() -> None:
    total, last = tf.Variable(0.0), tf.Variable(-1.0)

    @tf.function
    def function(x, iterations):
        for _ in tf.range(iterations):
            total.assign_add(x)
            if total > 5.0:
                last.assign(total * x)
        return total + last

    specs = tf.TensorSpec(()), tf.TensorSpec((), tf.int32)
    compiled = hidet_tf.compile(function, *specs, options=ERROR)
    a, b = 0.0, -1.0
    for iterations in (2, 0, 3):
        for _ in range(iterations):
            a += 2.0
            b = a * 2 if a > 5 else b
        assert float(compiled(2.0, iterations)) == a + b
        assert (float(total), float(last)) == (a, b)


def test_one_of_several_graphs_assigns() -> None:
    state = tf.Variable(1.0)

    @tf.function
    def function(x, number):
        def doubled():
            state.assign(state * 2)
            return x

        return tf.switch_case(number, [lambda: x * state, doubled, lambda: x + 1]) + state

    specs = tf.TensorSpec(()), tf.TensorSpec((), tf.int32)
    compiled = hidet_tf.compile(function, *specs, options=ERROR)
    assert [float(compiled(3.0, n)) for n in (0, 1, 0, 2)] == [4, 5, 8, 6]


def test_rows_are_read_and_written() -> None:
    state = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @tf.function
    def function(x, index):
        before = tf.gather(state, index)
        state.scatter_update(tf.IndexedSlices(x, index))
        state.scatter_add(tf.IndexedSlices(x, [0, 0]))
        state.scatter_sub(tf.IndexedSlices(x[:1], [1]))
        return before, state.gather_nd([[2, 1]])

    specs = tf.TensorSpec((2, 2)), tf.TensorSpec((2,), tf.int32)
    compiled = hidet_tf.compile(function, *specs, options=ERROR)
    x, index, value = np.array([[0.5, 1], [7, 8]], np.float32), [2, 1], state.numpy()
    for _ in range(2):
        before, last = compiled(x, index)
        np.testing.assert_allclose(before, value[index])
        value[index] = x
        value[0] += x[0] + x[1]
        value[1] -= x[0]
        np.testing.assert_allclose(state, value)
        np.testing.assert_allclose(last, value[2, 1:])


def test_a_write_without_a_converter() -> None:
    """What no converter writes, nothing else may, for the order's sake."""
    state = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def function(x):
        state.scatter_div(tf.IndexedSlices(x[None], [1]))
        return state * 2

    with pytest.raises(UnsupportedOp, match="ResourceScatterDiv"):
        hidet_tf.compile(function, tf.TensorSpec((2,)))


def test_a_file_has_no_variables() -> None:
    count = tf.Variable(0.0, name="count")

    @tf.function
    def function(x):
        return count.assign_add(x)

    compiled = hidet_tf.compile(function, tf.TensorSpec(()), options=ERROR)
    with pytest.raises(BadArgument, match="the model assigns to count"):
        compiled.save("never.hidet")


PLACES = tf.constant([[2], [0], [3]])
WRITES = {
    "a row": lambda v, x: v[1].assign(x[0]),
    "one element": lambda v, x: v[-1, 2].assign(7.0),
    "every other": lambda v, x: v[::2, 1:].assign(x[:3, 1:]),
    "backwards": lambda v, x: v[::-1].assign(x),
    "columns": lambda v, x: v[..., 0].assign(x[:, 1]),
    "all of it": lambda v, x: v[:].assign(2.0),
    "rows": lambda v, x: v.scatter_update(tf.IndexedSlices(x[:2], [3, 0])),
    "smallest": lambda v, x: v.scatter_min(tf.IndexedSlices(x[:2], [3, 3])),
    "largest": lambda v, x: v.scatter_max(tf.IndexedSlices(x[:2], [3, 0])),
    "products": lambda v, x: v.scatter_mul(tf.IndexedSlices(x[:2], [3, 3])),
    "parts": lambda v, x: v.scatter_nd_update(PLACES, x[:3]),
    "parts more": lambda v, x: v.scatter_nd_add(PLACES, x[:3]),
    "parts less": lambda v, x: v.scatter_nd_sub(PLACES, x[:3]),
    "a slice and a sum": lambda v, x: (v[1:3].assign(x[1:3]), v.assign_add(x)),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_part_of_a_variable_is_assigned(name: str) -> None:
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    ours, theirs = (tf.Variable(np.arange(15, dtype=np.float32).reshape(5, 3)) for _ in range(2))

    def function(variable: tf.Variable) -> tf.types.experimental.PolymorphicFunction:
        @tf.function
        def write(x):
            before = variable * 1.0
            WRITES[name](variable, x)
            return before, variable + x

        return write

    compiled = hidet_tf.compile(function(ours), tf.TensorSpec((5, 3)), options=ERROR)
    original = function(theirs)
    for _ in range(2):
        for found, wanted in zip(compiled(x), original(x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@tf.function
def checked(x, n):
    tf.debugging.assert_greater(n, 0, message="n is not positive")
    tf.Assert(tf.reduce_all(x < 100), [x])
    return tf.nn.relu(x) * tf.cast(n, tf.float32)


SPECS = (tf.TensorSpec((3,)), tf.TensorSpec((), tf.int32))


def test_asserts_are_checked_by_tensorflow() -> None:
    with pytest.warns(UserWarning, match="Assert"):
        compiled = hidet_tf.compile(checked, *SPECS)
    x = np.ones(3, np.float32)
    assert np.array_equal(compiled(x, 2), [2, 2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="n is not positive"):
        compiled(x, -2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        compiled(x * 200, 2)


def test_asserts_that_are_dropped_check_nothing() -> None:
    compiled = hidet_tf.compile(checked, *SPECS, options={"asserts": "dropped", **ERROR})
    assert np.array_equal(compiled(np.full(3, 200, np.float32), -2), [-400, -400, -400])
    assert "Assert" not in compiled.explain()
    assert len(compiled.graph.nodes) <= 4
