"""What calls take, and in which structure their results come."""

from functools import partial
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet
import hidet_tf
from hidet.errors import BadArgument, HidetError

SPEC = tf.TensorSpec((None, 3))
X = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)


class Pair(NamedTuple):
    first: tf.Tensor
    second: tf.Tensor


def same(found: object, expected: object) -> None:
    """Two nested structures of tensors are the same."""
    tf.nest.assert_same_structure(found, expected)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        if other is None:
            assert one is None
            continue
        assert one.dtype == other.dtype
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-6)


def test_structures_come_back_as_the_original_has_them() -> None:
    @tf.function
    def f(x, y, *, z):
        return {"b": [x + y[0], None], "a": Pair(tf.exp(z["q"]), y[1] * z["p"]), "c": (x,)}

    compiled = hidet_tf.compile(f)
    given = (tf.constant(X), (X + 1, tf.constant(X * 2))), {"z": {"p": X * 3, "q": X}}
    for _ in range(2):
        same(compiled(*given[0], **given[1]), f(*given[0], **given[1]))


def test_one_kind_of_arguments_is_traced_once_and_a_second_size_opens_an_axis() -> None:
    traces = []

    @hidet_tf.compile
    def f(x, y):
        traces.append(x.shape.as_list())
        return x + y

    for rows in (3, 3, 5, 7, 1):
        x = tf.ones((rows, 3))
        same(f(x, x), x + x)
    assert traces == [[3, 3], [None, 3]]
    same(f(tf.ones((2, 2), tf.int32), tf.ones((2, 2), tf.int32)), tf.fill((2, 2), 2))
    assert len(traces) == 3


def test_other_values_than_tensors_are_fixed_by_the_trace() -> None:
    @tf.function
    def f(x, times, flag=True):
        return x * times if flag else x

    compiled = hidet_tf.compile(f)
    same(compiled(X, 2.0), tf.constant(X * 2))
    same(compiled(X, 3.0), tf.constant(X * 3))
    same(compiled(X, 3.0, flag=False), tf.constant(X))
    fixed = hidet_tf.compile(f, SPEC, 2.0)
    same(fixed(X, 2.0), tf.constant(X * 2))
    same(fixed(X), tf.constant(X * 2))
    with pytest.raises(BadArgument, match=r"compiled for times=2\.0, not 3\.0"):
        fixed(X, 3.0)


@pytest.mark.parametrize("value", [X.astype(np.float64), X.tolist(), tf.Variable(X), X[::-1]])
def test_what_becomes_an_argument(value: object) -> None:
    compiled = hidet_tf.compile(lambda x: x * 2.0, SPEC)
    same(compiled(value), tf.constant(np.asarray(value, np.float32) * 2))


@pytest.mark.parametrize(
    "name", ["float64", "float16", "bfloat16", "int8", "int64", "uint8", "bool"]
)
def test_element_types_come_in_and_out(name: str) -> None:
    x = tf.cast(tf.reshape(tf.range(6), (2, 3)), name)
    result = hidet_tf.compile(lambda x: tf.identity(x), tf.TensorSpec((None, 3), name))(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x)


def test_results_are_their_own_memory_aligned_for_tensorflow() -> None:
    compiled = hidet_tf.compile(lambda x: (x * 2.0, x), SPEC)
    x = tf.constant(X)
    for _ in range(3):
        results = compiled(x)
        places = [np.asarray(each).__array_interface__["data"][0] for each in (x, *results)]
        assert len({*places}) == 3
        assert all(place % 64 == 0 for place in places)
        tf.Variable(results[0]).assign_add(results[1])  # what TensorFlow does to them is its own
        same(results[0], x * 2.0)
    same(x, tf.constant(X))


def test_results_as_arrays() -> None:
    compiled = hidet_tf.compile(lambda x: {"y": x * 2.0}, SPEC, options={"results": "numpy"})
    found = compiled(X)["y"]
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, X * 2)


def test_tensors_of_other_libraries_come_by_dlpack() -> None:
    given = hidet.asarray(X)
    same(hidet_tf.compile(lambda x: x * 2.0, SPEC)(given), tf.constant(X * 2))
    same(hidet_tf.compile(lambda x: x * 2.0)(given), tf.constant(X * 2))


def test_an_empty_batch() -> None:
    found = hidet_tf.compile(lambda x: x * 2.0, SPEC)(tf.zeros((0, 3)))
    assert found.shape == (0, 3)


class Twice(tf.Module):
    @tf.function(input_signature=[SPEC])
    def double(self, x):
        return x * 2.0

    def plain(self, x):
        return x * 2.0


def given_functions() -> dict[str, object]:
    """What may be compiled, by name."""
    twice = Twice()
    return {
        "method": twice.plain,
        "method with a signature": twice.double,
        "partial": partial(lambda y, x: x * y, 2.0),
        "concrete": tf.function(lambda x: x * 2.0).get_concrete_function(SPEC),
        "xla": tf.function(lambda x: x * 2.0, jit_compile=True),
        "sequential": keras.Sequential([keras.layers.Lambda(lambda x: x * 2.0)]),
    }


@pytest.mark.parametrize("name", given_functions())
def test_what_may_be_compiled(name: str) -> None:
    compiled = hidet_tf.compile(given_functions()[name])
    same(compiled(X), tf.constant(X * 2))
    same(compiled(tf.constant(X[:2])), tf.constant(X[:2] * 2))


class Classed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2)
        self.drop = keras.layers.Dropout(0.5)

    def call(self, x, scale=None, training=None):
        y = self.drop(self.dense(x), training=training)
        return y if scale is None else y * scale


def test_a_model_written_as_a_class_is_traced_as_it_predicts() -> None:
    model = Classed()
    compiled = hidet_tf.compile(model)
    with pytest.raises(BadArgument, match="compiled at its first call"):
        compiled.graph  # noqa: B018
    same(compiled(X), model(X))
    same(compiled(tf.constant(X), scale=tf.constant(3.0)), model(X) * 3)


def test_models_of_several_inputs() -> None:
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    total = keras.layers.Add()([a, b])
    by_name = keras.Model({"b": b, "a": a}, {"sum": total, "own": a * 2})
    given = {"a": X, "b": X * 5}
    same(hidet_tf.compile(by_name)(given), by_name(given))
    listed = keras.Model([b, a], [total, a * 2])
    same(hidet_tf.compile(listed)([X * 5, X]), listed([X * 5, X]))


@pytest.mark.parametrize(
    ("inputs", "named", "message"),
    [
        ((X, X), {}, "2 arguments for 1 parameters"),
        ((), {}, "no value for x"),
        ((X,), {"y": X}, "there is no argument 'y'"),
        ((X,), {"x": X}, "'x' is given twice"),
        ((X[:, 1:],), {}, "x"),
        ((X.astype(np.int32),), {}, "x"),
        ((tf.constant("text"),), {}, "elements of type string"),
        ((object(),), {}, "no tensor"),
    ],
)
def test_wrong_arguments_are_said(inputs: tuple, named: dict, message: str) -> None:
    def double(x):
        return x * 2.0

    compiled = hidet_tf.compile(double, SPEC)
    with pytest.raises(HidetError, match=message):
        compiled(*inputs, **named)
    same(compiled(X), tf.constant(X * 2))


def test_structures_that_do_not_fit_are_said() -> None:
    compiled = hidet_tf.compile(lambda x: x["a"] + x["b"][0], {"a": SPEC, "b": (SPEC,)})
    for wrong in ({"a": X}, X, {"a": X, "b": (X, X)}):
        with pytest.raises(BadArgument, match="has not the structure"):
            compiled(wrong)


def test_what_cannot_be_compiled_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadArgument, match="nothing that can be compiled"):
        hidet_tf.compile(3)
    with pytest.raises(BadArgument, match="no number of axes"):
        hidet_tf.compile(lambda x: x, tf.TensorSpec(None))
    with pytest.raises(BadArgument, match="option fallback is 'no'"):
        hidet_tf.compile(lambda x: x, SPEC, options={"fallback": "no"})
    with pytest.raises(BadArgument, match="there is no option"):
        hidet_tf.compile(lambda x: x, SPEC, options={"fall": "no"})
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(BadArgument, match="Keras computes by jax"):
        hidet_tf.compile(model)


def test_one_spec_for_two_arguments() -> None:
    compiled = hidet_tf.compile(lambda x, y: x - y, SPEC, SPEC)
    same(compiled(X, X.astype(np.float64) * 2), tf.constant(-X))


def test_images_of_any_size_are_compiled_for_that_of_the_first_call() -> None:
    inputs = keras.Input((None, None, 3))
    model = keras.Model(inputs, keras.layers.AveragePooling2D(2)(inputs))
    compiled = hidet_tf.compile(model)
    rng = np.random.default_rng(0)
    for shape, sizes in (((1, 4, 6, 3), "4, 6"), ((2, 4, 6, 3), "4, 6"), ((1, 4, 8, 3), "4, ")):
        x = rng.standard_normal(shape).astype(np.float32)
        same(compiled(x), model(x))
        first = compiled.graph.inputs[0].shape
        assert not isinstance(first[0], int)
        assert str(first).count(sizes) == 1
    assert len(compiled.retracing.variants.forms) == 2
