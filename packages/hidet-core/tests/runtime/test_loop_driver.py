"""Loops on the CPU whose iterations a compiled function runs."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.build.compiled import build_graph
from hidet.errors import BadArchive
from hidet.graph import asarray, evaluate, symbol, trace_from
from hidet.runtime.plans.archive import read
from hidet.runtime.plans.loop_driver import MOST_ARGUMENTS, LoopDriver, drivable
from hidet.runtime.plans.plan import Launch, Pointer, Repeat
from hidet.runtime.profiling.profile import HostRecorder, recorded


def fibonacci(limit, trips):
    """Two tensors that change places, the rows of all iterations, and a condition."""

    def body(iteration, a, b):
        return ops.less(ops.sum(b), limit), [b, ops.add(a, b)], [ops.multiply(b, 2.0)]

    a, b, count = symbol((3,)), symbol((3,)), symbol((), "int64")
    start = ops.less(ops.sum(b), limit)
    last, rows, iterations = ops.loop(body, [a, b], trips=count, go_on=start, most=trips)
    return trace_from([*last, *rows, iterations], [a, b, count])


@pytest.fixture
def driven(monkeypatch):
    """The iterations that the compiled function ran, a number for each loop."""
    found, run = [], LoopDriver.run

    def noted(*args):
        made = run(*args)
        found.append(made[1])
        return made

    monkeypatch.setattr(LoopDriver, "run", noted)
    return found


@pytest.mark.parametrize("trips", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("limit", [0.0, 50.0, 1e30])
def test_a_loop_ends_as_its_condition_and_its_count_say(trips, limit, driven):
    graph = fibonacci(limit, 120)
    arrays = [np.float32([1, 2, 3]), np.float32([2, 1, 1]), np.int64(trips)]
    wanted = evaluate(graph, *arrays)
    found = graph(*map(asarray, arrays))
    assert driven == [int(wanted[-1])]
    with recorded(HostRecorder()):
        by_host = graph(*map(asarray, arrays))
    assert len(driven) == 1, "a profile has each launch run by the host"
    for one, two, other in zip(found, by_host, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-6)
        np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_what_is_no_launch_is_run_by_the_host(driven):
    def body(iteration, x):
        return None, [ops.if_(ops.sum(x) > 0, lambda: x - 1.0, lambda: x + 2.0)], []

    x = symbol((3,))
    graph = trace_from(ops.loop(body, [x], trips=300)[0], [x])
    given = np.float32([1, 2, 3])
    found = graph(asarray(given))
    np.testing.assert_allclose(found.numpy(), evaluate(graph, given)[0])
    assert not driven


def test_an_archive_names_the_binary_and_has_it():
    archive = build_graph(fibonacci(50.0, 120)).archive
    (step,) = (each for each in archive.main.steps if isinstance(each, Repeat))
    assert step.driver in archive.binaries
    others = {name: body for name, body in archive.binaries.items() if name != step.driver}
    assert read(archive.to_bytes(), "it").plans == dict(archive.plans)
    with pytest.raises(BadArchive, match="lacks the binaries"):
        read(replace(archive, binaries=others).to_bytes(), "it")


def test_bodies_that_take_too_much_are_run_by_the_host():
    launch = Launch("unit", "f", tuple(map(Pointer, range(MOST_ARGUMENTS))), (), ())
    more = Launch("unit", "f", tuple(map(Pointer, range(MOST_ARGUMENTS + 1))), (), ())
    assert drivable([launch]) == [launch]
    assert drivable([launch, more]) is None
