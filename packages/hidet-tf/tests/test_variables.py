"""Variables of TensorFlow as weights: every write is seen, and nothing else is taken for one."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from hidet import ops
from hidet.frontend.execute import View, prepare_runner
from hidet.graph import FlowGraph, Tensor, tracing
from hidet.types import f32
from hidet_tf.variables import Variable, Weights

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


class Layer:
    """x @ w + exp(b) on variables: b is read only as something derived of it."""

    def __init__(self, is_watched: bool = True) -> None:
        self.w, self.b = tf.Variable(random(7, 5)), tf.Variable(random(5))
        sources = [Variable(each.handle, each.dtype) for each in (self.w, self.b)]
        x = Tensor(f32[3, 7], "cpu", name="x")
        with tracing():
            named = {each.tensor(): each for each in sources}
            w, b = named
            graph = FlowGraph([x], [ops.add(ops.matmul(x, w), ops.exp(b))])
        self.weights = Weights(named, is_watched)
        runner = prepare_runner(graph, self.weights.view, origin=self.weights.origin)
        self.weights.watch(runner)
        self.runner = runner
        self.sources = sources

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.weights.check()
        (found,) = self.runner([View(x.ctypes.data, x.shape, "float32", "cpu", x)])
        return np.asarray(found.owner)

    def is_right(self) -> bool:
        x, w, b = random(3, 7), self.w.numpy(), self.b.numpy()
        return np.allclose(
            self(x), x @ w.astype(np.float64) + np.exp(b.astype(np.float64)), 1e-5, 1e-5
        )


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
    places = [each.place for each in layer.sources]
    for _ in range(3):
        assert layer.is_right()
    assert [each.changes for each in layer.sources] == [[0], [0]]
    assert [each.place for each in layer.sources] == places


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
    weights = Weights({source.tensor(): source})
    other = np.array([0x7FC00001], np.uint32).view(np.float32)
    variable.assign(other)
    for value in weights.values():
        source.look(value, -1)
    assert source.changes == [1]


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "int32", "bool", "float64", "uint8"])
def test_variables_of_other_types_keep_theirs(kind: str) -> None:
    variable = tf.Variable(tf.cast([[1, 0, 1]], kind))
    constant = Variable(variable.handle, variable.dtype, name="v").tensor()
    assert (constant.dtype.name, constant.shape, constant.name) == (kind, (1, 3), "v")
    assert np.array_equal(constant.numpy().astype(float), [[1, 0, 1]])


def test_a_variable_lies_where_tensorflow_has_it() -> None:
    variable = tf.Variable(random(4, 4))
    source = Variable(variable.handle, variable.dtype)
    assert source.tensor() is source.tensor()
    assert source.view().pointer == np.asarray(variable.read_value()).ctypes.data


def test_frozen_variables_are_not_looked_at() -> None:
    layer = Layer(is_watched=False)
    assert layer.is_right()
    x = random(3, 7)
    before = layer(x)
    layer.w.assign(tf.zeros((7, 5)))
    assert np.array_equal(layer(x), before)
