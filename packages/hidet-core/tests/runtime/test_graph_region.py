"""Control flow as nodes of a CUDA graph: what is built runs right, wherever its buffers lie."""

import gc
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.build import eager
from hidet.graph import asarray, evaluate, symbol, trace_from
from hidet.runtime import executor
from hidet.runtime.graphs import region as graph_region
from hidet.runtime.graphs.segment import Segment
from hidet.runtime.plans.several_iterations import NODES, iterations_at_once
from hidet.testing.compare import assert_close

from .graph_machine import Machine


@pytest.fixture
def machine(monkeypatch):
    """Graphs run here from now on."""
    made = Machine(monkeypatch)
    monkeypatch.setattr(executor, "HostProgram", made.program)
    monkeypatch.setattr(eager, "_executors", OrderedDict())  # others' programs know no graphs
    yield made
    for each in gc.get_objects():
        if isinstance(each, Segment):  # which would give its graphs back to the driver
            each.graph = each.executable = None


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def check(machine, results, inputs, *arrays, launches=1):
    """Calls on inputs elsewhere each time are right, by so many launches of graphs; what is derived
    of constants takes its own at the first."""
    graph = trace_from(results, inputs)
    wanted = evaluate(graph, *arrays)
    for iteration in range(3):
        kept = [np.array(each) for each in arrays]
        before = machine.launches
        found = graph(*map(asarray, kept))
        assert iteration == 0 or machine.launches == before + launches
        found = found if isinstance(found, tuple) else (found,)
        for tensor, each in zip(found, wanted, strict=True):
            assert_close(tensor.numpy(), each, tensor.dtype, 64)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_is_part_of_the_graph(machine, sign):
    x, w = symbol(("n", 3)), asarray(values(3, 3))
    y = ops.if_(ops.sum(x) > 0, lambda: (x @ w, x), lambda: (x - 1.0, x * 2.0))
    check(machine, y, x, sign * np.abs(values(5, 3)))


@pytest.mark.parametrize("trips", [0, 1, 2, 7])
def test_a_loop_with_a_bound_is_part_of_the_graph(machine, trips):
    x, n = symbol((3,)), symbol((), "int64")

    def body(iteration, a, b):
        return None, (b, a + b * 0.5), (a * ops.cast(iteration, a.dtype),)

    carried, rows, iterations = ops.loop(body, (x, x * 2.0), trips=n, most=8)
    after = ops.exp(carried[0])
    check(machine, [*carried, *rows, iterations, after], [x, n], values(3), np.int64(trips))


@pytest.mark.parametrize("start", [0.0, 20.0, 1000.0])
def test_a_loop_without_a_bound_ends_the_graph(machine, start):
    x = symbol((129,))
    results = ops.while_loop(lambda v: ops.sum(v) < 3000.0, lambda v: (v * 1.5 + 1.0,), x)
    check(machine, results, x, np.full(129, start, np.float32))


@pytest.mark.parametrize(("iterations", "launches"), [(3, 1), (4, 2), (5, 2), (9, 3)])
def test_the_host_looks_for_relaunch(machine, iterations, launches, monkeypatch):
    programs = "hidet.runtime.programs"
    for target in (graph_region.__name__, f"{programs}.relaunch", f"{programs}.stream_program"):
        monkeypatch.setattr(f"{target}.ITERATIONS", 4)
    x = symbol((7,))
    results = ops.while_loop(lambda v: ops.sum(v) < 7 * iterations, lambda v: (v + 1.0,), x)
    check(machine, results, x, np.zeros(7, np.float32), launches=launches)


def test_what_comes_behind_a_loop_without_a_bound_waits_for_it(machine):
    x = symbol((7,))
    (y,) = ops.while_loop(lambda v: ops.sum(v) < 100.0, lambda v: (v + 1.0,), x)
    check(machine, ops.exp(y * 0.01), x, values(7), launches=2)


def test_loops_and_branches_lie_within_each_other(machine):
    x = symbol(("n", 2))

    def inner(iteration, h):
        more = ops.if_(ops.sum(h) > 1.0, lambda: h * 0.5, lambda: h + x)
        return None, (more,), ()

    def outer(iteration, h):
        (h,), _, _ = ops.loop(inner, [h], trips=iteration + 1, most=4)
        return None, (h,), (ops.sum(h),)

    (last,), (sums,), _ = ops.loop(outer, [x], trips=4)
    check(machine, [last, sums], x, np.abs(values(3, 2)))


def test_a_loop_without_a_bound_in_a_body_is_driven_by_the_host(machine):
    """No graph would end it."""
    x, n = symbol((7,)), symbol((), "int64")

    def outer(iteration, h):
        (h,) = ops.while_loop(lambda v: ops.sum(v) < 30.0, lambda v: (v * 1.5 + 1.0,), h)
        return None, (h - 3.0,), ()

    (last,), _, _ = ops.loop(outer, [x], trips=n, most=9)
    graph = trace_from(last, [x, n])
    graph(asarray(values(7)), asarray(np.int64(3)))
    (program,) = eager.executor_for(graph).programs.values()
    assert [type(part).__name__ for part in program.parts] == ["StreamRegion"]


def test_a_body_whose_data_tell_sizes_is_driven_by_the_host(machine):
    """The host reads them; each plan of the chain is a graph."""
    x = symbol(("n",))

    def iteration(number, h):
        kept = ops.take(h, [ops.nonzero(ops.relu(h))[:, 0]])
        return None, (h - ops.sum(kept) * 0.1,), ()

    (last,), _, _ = ops.loop(iteration, [x], trips=3)
    check(machine, ops.exp(last), x, values(9), launches=7)
    (program,) = eager.executor_for(trace_from(ops.exp(last), x)).programs.values()
    assert [type(part).__name__ for part in program.parts] == ["StreamRegion", "Segment"]


@pytest.mark.parametrize("iterations", [31, 32, 33, 129])
def test_several_iterations_are_one_iteration(machine, iterations):
    """What is carried goes to and fro, rows are written in place, and the rest comes behind."""
    x = symbol((3, 5))

    def body(iteration, a, b):
        return None, (b, a + b * 0.5), (a * ops.cast(iteration, a.dtype),)

    carried, rows, count = ops.loop(body, (x, x * 2.0), trips=iterations)
    check(machine, [*carried, *rows, count, ops.exp(carried[0] * 1e-3)], x, values(3, 5) * 1e-2)


def test_only_short_iterations_whose_number_is_known_are_several_at_once(machine):
    """A graph of very many nodes takes long to change when buffers move."""
    x = symbol((7, 7))

    def body(iteration, h):
        return None, (ops.tanh(h @ h) @ h,), ()

    graph = trace_from(ops.loop(body, [x], trips=99)[0][0], x)
    graph(asarray(values(7, 7)))
    (program,) = eager.executor_for(graph).programs.values()
    ((number, (body,)),) = program.bound.bodies.items()
    step, steps = program.bound.steps[number], body.steps
    assert iterations_at_once(step, steps) == 16
    assert iterations_at_once(step, [*steps, *steps] * 4) in (2, 4)
    assert iterations_at_once(replace(step, count=1), steps) == 1
    assert iterations_at_once(replace(step, count=None), steps) == 1
    assert iterations_at_once(replace(step, trips=0), steps) == 1
    assert iterations_at_once(replace(step, go_on=0, again=0), steps) == 1
    assert iterations_at_once(step, steps * NODES) == 1
