"""Compiled models inside of TensorFlow: traced functions, layers, pipelines, tapes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.errors import BadArgument
from hidet_tf.layer import GradientWarning

RNG = np.random.default_rng(0)
ERROR = {"fallback": "error"}


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def network() -> keras.Model:
    layers = keras.layers
    return keras.Sequential([keras.Input((4,)), layers.Dense(5, "tanh"), layers.Dense(2)])


@pytest.fixture
def model() -> keras.Model:
    return network()


@pytest.fixture
def compiled(model: keras.Model):
    return hidet_tf.compile(model, options=ERROR)


def test_in_a_function(model: keras.Model, compiled) -> None:
    @tf.function(input_signature=[tf.TensorSpec((None, 4))])
    def function(x):
        found = compiled(x * 2)
        assert found.shape.as_list() == [None, 2]
        return found + 1

    for rows in (1, 7):
        x = random(rows, 4)
        np.testing.assert_allclose(function(x), model(x * 2) + 1, rtol=1e-5, atol=1e-6)
    model.layers[0].kernel.assign(random(4, 5))
    np.testing.assert_allclose(function(x), model(x * 2) + 1, rtol=1e-5, atol=1e-6)


def test_several_results_of_a_structure_in_a_function() -> None:
    @tf.function
    def original(x, pair):
        return {"a": x + pair[0], "b": (x, tf.cast(pair[1], tf.int64))}

    specs = tf.TensorSpec((3,)), (tf.TensorSpec(()), tf.TensorSpec((2,), tf.int32))
    compiled = hidet_tf.compile(original, *specs, options=ERROR)
    outer = tf.function(lambda x, y, z: compiled(x, (y, z)))
    given = random(3), np.float32(2), np.array([1, 2], np.int32)
    found, meant = outer(*given), original(given[0], given[1:])
    tf.nest.assert_same_structure(found, meant)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(meant), strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def test_a_model_that_calls_tell_in_a_function() -> None:
    compiled = hidet_tf.compile(lambda x: x * 2, options=ERROR)
    outer = tf.function(compiled, input_signature=[tf.TensorSpec((None, 3))])
    for rows in (2, 5):
        x = random(rows, 3)
        assert np.array_equal(outer(x), x * 2)


def test_a_layer_in_a_model(model: keras.Model, compiled) -> None:
    inputs = keras.Input((4,))
    whole = keras.Model(inputs, keras.layers.ReLU()(compiled.as_layer(name="fast")(inputs)))
    assert whole.output_shape == (None, 2)
    x = random(70, 4)
    meant = np.maximum(model(x), 0)
    np.testing.assert_allclose(whole(x), meant, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(whole.predict(x, verbose=0), meant, rtol=1e-5, atol=1e-6)
    assert not whole.weights


def test_a_symbol_of_keras_is_for_the_layer(compiled) -> None:
    with pytest.raises(BadArgument, match="no values") as caught:
        compiled(keras.Input((4,)))
    assert "as_layer()" in str(caught.value.help)


def test_a_pipeline(model: keras.Model, compiled) -> None:
    x = random(10, 4)
    rows = tf.data.Dataset.from_tensor_slices(x).batch(3).map(compiled)
    found = np.concatenate([*rows.as_numpy_iterator()])
    np.testing.assert_allclose(found, model(x), rtol=1e-5, atol=1e-6)


def test_a_tape_that_records_gets_the_gradients_of_the_original(model, compiled) -> None:
    x = tf.constant(random(3, 4))
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.warns(GradientWarning, match="runs the original"):
            found = compiled(x)
        loss = tf.reduce_sum(found)
    with tf.GradientTape() as other:
        other.watch(x)
        meant = tf.reduce_sum(model(x))
    for one, two in zip(
        tape.gradient(loss, [x, *model.trainable_weights]),
        other.gradient(meant, [x, *model.trainable_weights]),
        strict=True,
    ):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_a_tape_that_has_nothing_to_record_is_no_reason(recwarn: pytest.WarningsRecorder) -> None:
    compiled = hidet_tf.compile(tf.function(lambda x: x * 2), tf.TensorSpec((3,)), options=ERROR)
    with tf.GradientTape():
        assert np.array_equal(compiled(np.ones(3, np.float32)), [2, 2, 2])
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape, tape.stop_recording():
        assert np.array_equal(compiled(x), [2, 4, 6])
    assert not [each for each in recwarn if each.category is GradientWarning]


def test_gradients_through_a_traced_function_are_refused(compiled) -> None:
    @tf.function
    def function(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(compiled(x))
        return tape.gradient(loss, x)

    with pytest.raises(Exception, match="a compiled model has no gradients in a traced function"):
        function(tf.constant(random(3, 4)))


def test_a_saved_model_of_it_is_refused(compiled, tmp_path) -> None:
    module = tf.Module()
    module.call = tf.function(compiled, input_signature=[tf.TensorSpec((None, 4))])
    with pytest.raises(AssertionError, match=r"compiled by hidet_tf.*compiled\.save\(path\)"):
        tf.saved_model.save(module, tmp_path / "saved")
    inputs = keras.Input((4,))
    whole = keras.Model(inputs, compiled.as_layer()(inputs))
    with pytest.raises(Exception, match="compiled by hidet_tf"):
        whole.export(tmp_path / "exported", verbose=False)
    with pytest.raises(BadArgument, match="no part of a Keras file"):
        whole.save(tmp_path / "whole.keras")
    with pytest.raises(BadArgument, match="no part of a Keras file"):
        keras.models.clone_model(whole)
