"""Cells of loops: products of rows ahead of the loop, gates that take turns."""

from collections.abc import Callable

import numpy as np
import pytest

from hidet import ops, symbol
from hidet.graph import FlowGraph, Tensor, asarray, evaluate, tracing
from hidet.ops.flow.control import Loop
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.tensors.slicing import Slice
from hidet.optimize.find.recurrent_cells import recurrent_cells
from hidet.options import options

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) * 0.5).astype(np.float32)


def network(step: Callable[..., list[Tensor]], rows: int | str = 5, batch: int = 3) -> FlowGraph:
    """A loop of `step(x's row, *state)` from states of zeros; what it gives, then the states."""
    x = symbol((rows, batch, 4), "float32", "cpu", name="x")
    with tracing():
        state = [ops.zeros((batch, 6)) for _ in range(2)]

        def iteration(*now: Tensor) -> tuple[list[Tensor], list[Tensor]]:
            *states, row = now
            after = step(row, *states)
            return after, after[:1]

        last, results = ops.scan(iteration, state, [x])
        return FlowGraph([x], [*results, *last])


def loop_of(graph: FlowGraph) -> Loop:
    (found,) = [each.op for each in graph.nodes if isinstance(each.op, Loop)]
    return found


def count(graph: FlowGraph, *kinds: type) -> int:
    return sum(isinstance(each.op, kinds) for each in graph.nodes)


def gates(whole: Tensor, number: int) -> tuple[Tensor, ...]:
    return ops.split(whole, whole.shape[-1] // number, -1)


def lstm(bias: bool = True, by_linear: bool = False) -> Callable[..., list[Tensor]]:
    w, u, b = asarray(random(4, 24)), asarray(random(6, 24)), asarray(random(24))
    rows = asarray(random(24, 4)), asarray(random(24, 6))

    def step(x: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
        if by_linear:
            whole = ops.add(ops.linear(x, rows[0]), ops.linear(h, rows[1], b))
        else:
            whole = ops.add(ops.matmul(x, w), ops.matmul(h, u))
            whole = ops.add(whole, b) if bias else whole
        i, f, g, o = gates(whole, 4)
        cell = ops.add(ops.multiply(ops.sigmoid(f), c), ops.multiply(ops.sigmoid(i), ops.tanh(g)))
        return [ops.multiply(ops.sigmoid(o), ops.tanh(cell)), cell]

    return step


def gru() -> Callable[..., list[Tensor]]:
    w, u, b = asarray(random(4, 18)), asarray(random(6, 18)), asarray(random(18))

    def step(x: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
        xs = gates(ops.add(ops.matmul(x, w), b), 3)
        hs = gates(ops.add(ops.matmul(h, u), b), 3)
        z, r = (ops.sigmoid(ops.add(a, b)) for a, b in zip(xs[:2], hs[:2], strict=True))
        new = ops.tanh(ops.add(xs[2], ops.multiply(r, hs[2])))
        return [ops.add(ops.multiply(z, h), ops.multiply(ops.subtract(1.0, z), new)), c]

    return step


STEPS = {
    "lstm": lstm(),
    "lstm-bare": lstm(bias=False),
    "lstm-linear": lstm(by_linear=True),
    "gru": gru(),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("batch", [1, 3])
def test_a_cell(name: str, batch: int) -> None:
    graph = network(STEPS[name], batch=batch)
    changed = recurrent_cells(graph)
    body = loop_of(changed).body.graph
    assert count(body, Matmul, Linear) == 1  # that of the state
    assert count(changed, Matmul, Linear) == 1  # that of all rows
    turned = [each for each in body.nodes if isinstance(each.op, Slice) and each.op.steps[-1] > 1]
    assert len(turned) == {"gru": 3}.get(name, 4)
    x = random(5, batch, 4)
    for one, other in zip(evaluate(changed, x), evaluate(graph, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(("rows", "batch"), [(2, 1), (7, 2), (3, 129)])
def test_a_cell_is_one_kernel_and_right(rows: int, batch: int, target: str) -> None:
    graph, x = network(STEPS["lstm"], rows, batch), random(rows, batch, 4)
    with options(target="" if target == "cpu" else target):
        found = graph.build()(x)
    for one, other in zip(found, evaluate(graph, x), strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-6)


def test_a_sequence_of_any_length() -> None:
    graph = network(STEPS["gru"], "n", 2)
    assert count(recurrent_cells(graph), Matmul) == 1
    compiled = graph.build()
    for rows in (1, 7):
        x = random(rows, 2, 4)
        for one, other in zip(compiled(x), evaluate(graph, x), strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-6)


def test_parts_that_are_read_otherwise_stay() -> None:
    """Heads of attention are parts of one product too, and neighbours belong together there."""
    w, u = asarray(random(4, 18)), asarray(random(6, 18))

    def step(x: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
        whole = ops.add(ops.matmul(x, w), ops.matmul(h, u))
        q, k, v = gates(whole, 3)
        return [ops.matmul(ops.matmul(q, ops.transpose(k)), v), c]

    body = loop_of(recurrent_cells(network(step))).body.graph
    assert all(each.op.steps[-1] == 1 for each in body.nodes if isinstance(each.op, Slice))
    assert count(body, Matmul, Linear) == 3  # the row's product is ahead


def test_rows_that_no_iteration_may_read_are_not_multiplied() -> None:
    x = symbol((1000, 2, 4), "float32", "cpu", name="x")
    n = symbol((), "int64", "cpu", name="n")
    w = asarray(random(4, 6))
    with tracing():

        def iteration(at: Tensor, h: Tensor) -> tuple[None, list[Tensor], tuple[()]]:
            return None, [ops.tanh(ops.add(ops.matmul(ops.take(x, (at,)), w), h))], ()

        (last,), _, _ = ops.loop(iteration, [ops.zeros((2, 6))], trips=n)
        graph = FlowGraph([x, n], [last])
    assert recurrent_cells(graph) is graph


def test_sums_that_something_else_reads_stay() -> None:
    u = asarray(random(6, 18))

    def step(x: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
        whole = ops.matmul(h, u)
        a, b, d = gates(whole, 3)
        return [ops.add(ops.add(ops.tanh(a), b), ops.multiply(d, ops.sum(whole))), c]

    graph = network(step)
    assert recurrent_cells(graph) is graph
