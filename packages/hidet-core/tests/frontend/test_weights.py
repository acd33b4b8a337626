"""Weights of a framework whose variables have another buffer after each assignment."""

from collections.abc import Callable, Hashable
from pathlib import Path

import numpy as np
import pytest

from hidet import load, ops
from hidet.frontend.running.execute import Origin, Runner, View, prepare_runner
from hidet.frontend.running.weights import GraphWeights, Weights
from hidet.graph import FlowGraph, Tensor, asarray, tracing
from hidet.types import f32


def view(array: np.ndarray) -> View:
    return View(array.ctypes.data, array.shape, str(array.dtype), "cpu", array)


class Variable:
    """Holds a buffer that nobody writes to."""

    def __init__(self, value: np.ndarray) -> None:
        self.buffer = value

    def address(self) -> int:
        return self.buffer.ctypes.data


class Held:
    """A variable as a constant: kernels read its buffer, unless it begins at an odd place."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.renewals = 0
        self.renew()

    def view(self) -> View:
        return view(self.memory)

    def renew(self) -> View:
        self.renewals += 1
        found = self.variable.buffer
        self.memory = found if found.ctypes.data % 16 == 0 else aligned(found)
        return self.view()

    def is_copied(self) -> bool:
        return self.memory is not self.variable.buffer

    def stamp(self) -> Callable[[], Hashable]:
        return self.variable.address

    def counted(self) -> None:
        return None

    def origin(self) -> Origin:
        return Origin(self.variable, ())

    def release(self) -> None:
        self.memory = np.empty(0, np.float32)


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy whose place is a multiple of 16."""
    nbytes = np.empty(array.nbytes + 16, np.uint8)
    start = -nbytes.ctypes.data % 16
    found = nbytes[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[:] = array
    return found


RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return aligned(RNG.standard_normal(shape).astype(np.float32))


class Layer:
    """x @ w + b, with weights that stay variables; `derived` are read only in another form."""

    def __init__(self) -> None:
        self.w, self.b = Variable(random(64, 129)), Variable(random(129))
        x = Tensor(f32[7, 64], "cpu", name="x")
        sources = {asarray(each.buffer): Held(each) for each in (self.w, self.b)}
        with tracing():
            w, b = sources
            graph = FlowGraph([x], [ops.add(ops.matmul(x, w), ops.exp(b))])
        self.weights = Weights(sources)
        self.runner: Runner = prepare_runner(graph, self.weights.view, origin=self.weights.origin)
        self.weights.watch(self.runner)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.weights.check()
        return np.asarray(self.runner([view(x)])[0].owner)

    def is_right(self) -> bool:
        x = random(7, 64)
        wide = x.astype(np.float64) @ self.w.buffer + np.exp(self.b.buffer.astype(np.float64))
        return np.allclose(self(x), wide, rtol=1e-5, atol=1e-4)

    def renewals(self) -> int:
        return sum(each.renewals for each in self.weights.by_tensor.values())


@pytest.fixture
def layer() -> Layer:
    made = Layer()
    assert made.is_right()
    return made


def test_nothing_is_done_where_nothing_changed(layer: Layer) -> None:
    assert layer.runner.sources  # something is derived
    before = layer.renewals()
    assert layer.is_right()
    assert layer.renewals() == before


@pytest.mark.parametrize("name", ["w", "b"])
def test_an_assignment_is_seen(layer: Layer, name: str) -> None:
    variable: Variable = getattr(layer, name)
    variable.buffer = random(*variable.buffer.shape)
    before = layer.renewals()
    assert layer.is_right()
    assert layer.renewals() == before + 2
    assert layer.is_right()
    assert layer.renewals() == before + 2


def test_a_buffer_that_kernels_cannot_read_is_copied(layer: Layer) -> None:
    for variable in (layer.w, layer.b):
        whole = random(variable.buffer.size + 1)
        variable.buffer = whole[1:].reshape(variable.buffer.shape)
    assert layer.is_right()
    assert any(each.is_copied() for each in layer.weights.by_tensor.values())
    layer.w.buffer, layer.b.buffer = random(64, 129), random(129)
    assert layer.is_right()


def test_what_nobody_notices_is_read_when_somebody_asks(layer: Layer) -> None:
    layer.b.buffer *= 0.5
    assert not layer.is_right()
    layer.weights.ask()
    assert layer.is_right()


def test_what_was_given_up_is_looked_at_no_more(layer: Layer) -> None:
    runner = layer.runner
    gone = [name for name in runner.weights if name not in runner.direct]
    x = random(7, 64)
    before = layer(x)
    layer.weights.give_up(gone)
    assert gone
    assert layer.weights.given_up.keys() == set(gone)
    for name in gone:
        assert not layer.weights.by_tensor[runner.weights[name]].memory.size
    layer.b.buffer = random(129)
    np.testing.assert_array_equal(layer(x), before)


def test_calls_and_files_of_a_compiled_graph_have_what_weights_are_now(tmp_path: Path) -> None:
    w, b = Variable(random(64, 129)), asarray(random(129))
    x = Tensor(f32[7, 64], "cpu", name="x")
    constant = asarray(w.buffer)
    with tracing():
        graph = FlowGraph([x], [ops.add(ops.matmul(x, constant), ops.exp(b))])
    compiled = graph.build()
    weights = GraphWeights(compiled, {constant: Held(w)})
    given = random(7, 64)
    for _ in range(2):
        wide = given.astype(np.float64) @ w.buffer + np.exp(b.numpy().astype(np.float64))
        weights.check()
        compiled.save(tmp_path / "graph.hidet")
        files = load(tmp_path / "graph.hidet"), graph.build()
        for each in (compiled, *files):
            np.testing.assert_allclose(each(given).numpy(), wide, rtol=1e-5, atol=1e-4)
        w.buffer = random(64, 129)
