"""Groups are worked out in several processes, with the same result as in one."""

import os
import signal

import pytest

from hidet import ops, options
from hidet.build import ahead
from hidet.build.ahead import FEW, Job, ProcessWarning, processes
from hidet.build.compile import compile_graph
from hidet.build.draft import RECIPES
from hidet.build.planning import kernels
from hidet.build.workers.remote import POOL, Remote
from hidet.build.workers.units import Units
from hidet.graph import symbol, trace_from
from hidet.graph.operator import OPERATORS
from hidet.schedules import base
from hidet.schedules.base import SCHEDULES, Schedule
from hidet.target import Target

CUDA = Target.parse("sm_90a")
FUNCTIONS = ("relu", "tanh", "exp", "sigmoid", "sqrt", "erf")


def layers(count=4, size=16):
    """A graph of different groups: products of several sizes with different functions after."""
    x = symbol((size, 8), device="cuda")
    inputs, y = [x], x
    for i in range(count):
        w = symbol((y.shape[1], size + 8 * i), device="cuda")
        inputs.append(w)
        y = getattr(ops, FUNCTIONS[i % len(FUNCTIONS)])(ops.matmul(y, w))
    return trace_from([y], inputs)


def built(workers, graph=None, target=CUDA):
    RECIPES.known.clear()
    with options.options(workers=workers, cache=False, progress=False):
        return compile_graph(graph or layers(), target).archive


@pytest.fixture(autouse=True)
def own_recipes(monkeypatch):
    """No recipes from other tests, and no processes left.

    A binary is its source here: two runs of NVRTC may give registers other numbers.
    """
    monkeypatch.setattr(Units, "compiled", lambda self, unit: unit.source.encode())
    RECIPES.known.clear()
    yield
    for each in POOL.waiting:
        each.end()
    POOL.waiting.clear()


def refuse(*_):
    pytest.fail("worked out again")


@pytest.mark.parametrize("target", [CUDA, Target.parse("cpu+avx2")])
def test_archives_are_the_same_byte_for_byte(target):
    graph = layers()
    serial, parallel = built(1, graph, target), built(3, graph, target)
    assert POOL.waiting  # there were other processes
    assert serial.to_bytes() == parallel.to_bytes()
    assert len(serial.plans["main"].steps) >= 4


def test_a_layer_of_the_same_shape_is_not_lowered_again(monkeypatch):
    with options.options(cache=False, progress=False):
        first = compile_graph(layers(2), CUDA).archive
        monkeypatch.setattr(kernels, "worked_out", refuse)
        monkeypatch.setattr(ahead, "worked_out", refuse)
        second = compile_graph(layers(2), CUDA).archive
    assert first.to_bytes() == second.to_bytes()


def test_layers_of_one_shape_share_kernels():
    x, w = symbol((16, 16), device="cuda"), [symbol((16, 16), device="cuda") for _ in range(5)]
    y = x
    for each in w:
        y = ops.relu(ops.matmul(y, each))
    archive = built(1, trace_from([y], [x, *w]))
    launched = [step.function for step in archive.plans["main"].steps]
    assert len(launched) == 5 * len(set(launched))


@pytest.mark.parametrize(
    ("asked", "cores", "groups", "expected"),
    [
        (0, 16, FEW, 8),
        (0, 16, FEW - 1, 0),
        (0, 2, 100, 0),
        (0, 4, 100, 2),
        (1, 16, 100, 0),
        (5, 2, 3, 3),
    ],
)
def test_how_many_processes_are_worth_it(asked, cores, groups, expected, monkeypatch):
    monkeypatch.setattr(ahead, "cores", lambda: cores)
    with options.options(workers=asked):
        assert processes(groups) == expected


def test_other_processes_are_not_used_where_they_know_less(tmp_path, monkeypatch):
    with options.options(workers=4, dump=str(tmp_path)):
        assert processes(100) == 0
    foreign = Schedule("theirs", (), "cuda", object, lambda *_: False, lambda *_: None)
    monkeypatch.setattr(base, "SCHEDULES", [*SCHEDULES, foreign])
    with options.options(workers=4):
        assert processes(100) == 0
        monkeypatch.setattr(base, "SCHEDULES", SCHEDULES)
        assert processes(100) == 4
    op = OPERATORS["relu"](symbol((2,)).type)
    assert kernels.Shape(None, ((op, (0,)),), (op.types()[0],)).is_ours
    monkeypatch.delitem(OPERATORS, "relu")
    assert not kernels.Shape(None, ((op, (0,)),), (op.types()[0],)).is_ours


def test_an_error_elsewhere_is_raised_here():
    process = Remote()
    try:
        assert process.ask(Job(kernels.Shape(7, (), ()), CUDA, {})) is None
        assert process.ready
    finally:
        process.end()


def test_a_process_that_dies_is_said_and_costs_nothing_else(monkeypatch):
    take = POOL.take

    def killed():
        found = take()
        os.kill(found.process.pid, signal.SIGKILL)
        return found

    graph = layers()
    expected = built(1, graph)
    monkeypatch.setattr(POOL, "take", killed)
    with pytest.warns(ProcessWarning, match="status -9"):
        found = built(2, graph)
    assert found.to_bytes() == expected.to_bytes()


def test_an_error_here_ends_the_processes(monkeypatch, eventually):
    started = []

    def start():
        started.append(Remote())
        return started[-1]

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(POOL, "take", start)
    monkeypatch.setattr(ahead, "worked_out", fail)
    with pytest.raises(KeyboardInterrupt):
        built(2)

    def ended():
        for each in [*POOL.waiting]:
            each.end()
        return not any(each.ready for each in started)

    assert started
    eventually(ended)
