"""Variables of TensorFlow as weights: every write is seen, and nothing else is taken for one."""

from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet
import hidet_tf
from hidet_tf.variables import Variable

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


class Layer:
    """x @ w + exp(b) on variables: b is read only as something derived of it."""

    def __init__(self, **options: object) -> None:
        self.w, self.b = tf.Variable(random(7, 5), name="w"), tf.Variable(random(5), name="b")
        spec = tf.TensorSpec((3, 7))
        function = tf.function(lambda x: x @ self.w + tf.exp(self.b))
        self.compiled = hidet_tf.compile(function, spec, options={"fallback": "error", **options})
        self.sources = list(self.compiled.fixed.imported.variables)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.compiled(x).numpy()

    def meant(self, x: np.ndarray) -> np.ndarray:
        w, b = (each.numpy().astype(np.float64) for each in (self.w, self.b))
        return x @ w + np.exp(b)

    def is_right(self) -> bool:
        x = random(3, 7)
        return np.allclose(self(x), self.meant(x), 1e-5, 1e-5)


@pytest.fixture
def layer() -> Layer:
    made = Layer()
    assert made.is_right()
    return made


@tf.function
def assigned(variable: tf.Variable, value: tf.Tensor) -> None:
    variable.assign(value)


@tf.function(jit_compile=True)
def assigned_by_xla(variable: tf.Variable, value: tf.Tensor) -> None:
    variable.assign(value)


WRITES: dict[str, Callable[[tf.Variable], object]] = {
    "assign": lambda v: v.assign(tf.ones_like(v) * 2),
    "assign_add": lambda v: v.assign_add(tf.ones_like(v)),
    "a_slice": lambda v: v[0].assign(v[0] + 3),
    "scatter": lambda v: v.scatter_update(tf.IndexedSlices(v[1:2] * 0.5, [1])),
    "in_a_function": lambda v: assigned(v, v * 0.5),
    "by_xla": lambda v: assigned_by_xla(v, v * 0.5),
}


@pytest.mark.parametrize("name", ["w", "b"])
@pytest.mark.parametrize("write", WRITES.values(), ids=[*WRITES])
def test_every_way_to_write_is_seen(layer: Layer, write: Callable, name: str) -> None:
    for _ in range(3):
        write(getattr(layer, name))
        assert layer.is_right()


def test_what_was_not_written_to_is_not_read_anew(layer: Layer) -> None:
    held = [each.held for each in layer.sources]
    for _ in range(3):
        assert layer.is_right()
    assert [each.changes for each in layer.sources] == [[0], [0]]
    assert all(one is each.held for one, each in zip(held, layer.sources, strict=True))


def test_memory_that_comes_again_is_not_taken_for_the_old_value(layer: Layer) -> None:
    seen = set()
    for number in range(50):  # freed buffers come again soon
        layer.w.assign(tf.fill((7, 5), float(number)))
        assert layer.is_right()
        seen.add(layer.sources[0].changes[0])
    assert len(seen) == 50


def test_a_variable_whose_every_read_is_a_copy_changes_only_when_it_is_written_to(
    layer: Layer,
) -> None:
    layer.w.scatter_update(tf.IndexedSlices([[1.0] * 5], [2]))
    assert layer.is_right()
    before = layer.sources[0].changes[0]
    assert layer.is_right()
    assert layer.sources[0].changes[0] == before
    layer.w.scatter_update(tf.IndexedSlices([[7.0] * 5], [2]))
    assert layer.is_right()
    assert layer.sources[0].changes[0] == before + 1


def test_a_bit_that_changed_in_a_nan_is_a_change() -> None:
    variable = tf.Variable(np.array([np.nan], np.float32))
    source = Variable(variable.handle, variable.dtype)
    source.take()
    other = np.array([0x7FC00001], np.uint32).view(np.float32)
    variable.assign(other)
    source.look(variable.read_value())
    assert source.changes == [1]


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "int32", "bool", "float64", "uint8"])
def test_variables_of_other_types_keep_theirs(kind: str) -> None:
    variable = tf.Variable(tf.cast([[1, 0, 1]], kind))
    constant = Variable(variable.handle, variable.dtype, name="v").tensor()
    assert (constant.dtype.name, constant.shape, constant.name) == (kind, (1, 3), "v")
    assert np.array_equal(constant.numpy().astype(float), [[1, 0, 1]])


@pytest.mark.filterwarnings("ignore")
def test_a_variable_of_text_is_tensorflow_s() -> None:
    text = tf.Variable("two words")
    compiled = hidet_tf.compile(
        tf.function(lambda x: x * tf.cast(tf.strings.length(text), x.dtype)), tf.TensorSpec((2,))
    )
    assert np.array_equal(compiled(np.ones(2, np.float32)), [9, 9])
    text.assign("one")
    assert np.array_equal(compiled(np.ones(2, np.float32)), [3, 3])


def test_a_variable_lies_where_tensorflow_has_it() -> None:
    variable = tf.Variable(random(4, 4))
    source = Variable(variable.handle, variable.dtype)
    assert source.tensor() is source.tensor()
    assert source.view().pointer == np.asarray(variable.read_value()).ctypes.data


def test_frozen_variables_are_not_looked_at() -> None:
    layer = Layer(weights="frozen")
    assert layer.is_right()
    x = random(3, 7)
    before = layer(x)
    layer.w.assign(tf.zeros((7, 5)))
    assert np.array_equal(layer(x), before)


def test_variables_may_be_inputs() -> None:
    layer = Layer(freeze=False)
    assert [each.name for each in layer.compiled.graph.inputs] == ["x", "w:0", "b:0"]
    for write in WRITES.values():
        write(layer.w)
        write(layer.b)
        assert layer.is_right()
    x = random(3, 7)
    assert layer.compiled.correctness_report(x, float64=True)


def test_a_single_number_is_no_constant_of_the_graph() -> None:
    """Numbers that are known while importing are written into kernels: a variable's never are."""
    scale = tf.Variable(2.0)
    compiled = hidet_tf.compile(tf.function(lambda x: x * tf.exp(scale)), tf.TensorSpec((3,)))
    x = random(3)
    for value in (2.0, -1.0):
        scale.assign(value)
        np.testing.assert_allclose(compiled(x), x * np.exp(value), rtol=1e-6)


def test_a_number_of_iterations_that_a_variable_has() -> None:
    iterations = tf.Variable(3)

    @tf.function
    def function(x):
        for _ in tf.range(iterations):
            x = x + 1
        return x

    compiled = hidet_tf.compile(function, tf.TensorSpec(()), options={"fallback": "error"})
    for count in (3, 5, 0):
        iterations.assign(count)
        assert compiled(0.0) == count


def test_files_and_reports_have_what_variables_are_now(tmp_path: Path, layer: Layer) -> None:
    x = random(3, 7)
    layer.w.assign(tf.ones((7, 5)) * 0.5)
    layer.compiled.save(tmp_path / "one.hidet")
    layer.compiled.save(tmp_path / "two.hidet", "cpu")
    for each in ("one.hidet", "two.hidet"):
        found = hidet.load(tmp_path / each)(x).numpy()
        np.testing.assert_allclose(found, layer.meant(x), rtol=1e-5, atol=1e-5)
    graph = layer.compiled.graph
    (found,) = graph.run([x]) if hasattr(graph, "run") else [layer(x)]
    np.testing.assert_allclose(np.asarray(found), layer.meant(x), rtol=1e-5, atol=1e-5)


def test_training_goes_on_in_between() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    compiled = hidet_tf.compile(model)
    x, y = random(8, 4), random(8, 1)
    for _ in range(2):
        model.fit(x, y, verbose=0)
        np.testing.assert_allclose(compiled(x), model(x), rtol=1e-5, atol=1e-5)
    model.set_weights([each * 2 for each in model.get_weights()])
    np.testing.assert_allclose(compiled(x), model(x), rtol=1e-5, atol=1e-5)
