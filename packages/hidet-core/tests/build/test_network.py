"""Whole graphs run with weights that are there and inputs of no meaning, and timed."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock

from hidet import ops
from hidet.build.draft import Draft
from hidet.build.measured import network
from hidet.build.measured.network import Given, Whole, blank
from hidet.errors import BadArgument
from hidet.graph import FlowGraph, symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.ops.indexing.in_place import in_place
from hidet.options import options
from hidet.runtime.binding.memory import array_of, view_of
from hidet.target import Target
from hidet.tuning.problem import harmless_inputs
from hidet.types import boolean

from .tuned_graphs import choices, constant, dense

CPU = Target.parse("cpu")


@pytest.fixture
def lock(tmp_path):
    with options(cache_dir=str(tmp_path)):
        yield FileLock(Path(tmp_path, "lock"))


def draft_of(graph):
    return Draft(graph, CPU, {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)})


def whole_of(draft):
    return Whole(draft.given, draft.names, draft.tried, draft.functions)


def test_what_runs_is_as_the_groups_are_scheduled_now(lock):
    graph = dense()
    draft = draft_of(graph)
    whole = whole_of(draft)
    load = whole.loader("cpu", lock)
    (group,) = draft.groups["main"]
    plain, names = load(), whole.kernels(group)
    group.choice = choices(group.anchor.op, CPU)[-1].choice
    other = load()
    assert set(names) != set(whole.kernels(group))
    for each, kernels in ((plain, names), (other, whole.kernels(group))):
        assert each.seconds() > 0
        took = each.kernels()
        assert set(took) <= set(kernels)  # what is made of weights is made once, ahead of calls
        assert all(seconds > 0 for seconds in took.values())
    results = [array_of(each.executor(each.calls[0])[0]) for each in (plain, other)]
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-4)
    plain.close()
    assert not hasattr(plain, "executor")


def test_measuring_leaves_the_draft_as_it_was(lock):
    graph = dense()
    draft, untouched = draft_of(graph), draft_of(graph)
    assert draft.tried().main == draft.tried().main
    made, expected = draft.archive(), untouched.archive()
    assert made.main == expected.main
    assert set(made.binaries) == set(expected.binaries)


def test_measurements_of_short_calls_have_several(lock, monkeypatch):
    monkeypatch.setattr(network, "usual_threads", lambda: 2)
    monkeypatch.setattr(network, "host_seconds", lambda run: run() or 0.002)
    found = whole_of(draft_of(dense())).loader("cpu", lock)()
    assert found.counts == [3]
    assert found.seconds() == pytest.approx(0.002 / 3)
    monkeypatch.setattr(network, "host_seconds", lambda run: run() or 1e-6)
    assert whole_of(draft_of(dense())).loader("cpu", lock)().counts == [network.MOST_CALLS]


def test_where_only_calls_tell_sizes_several_count(lock, monkeypatch):
    n = size_symbol("n")
    x = symbol([n, 24])
    graph = trace_from(ops.relu(x @ constant(24, 40)), inputs=[x])
    found = whole_of(draft_of(graph)).loader("cpu", lock)()
    assert [each.shape for (each,) in found.calls] == [(128, 24), (4, 24)]
    times = iter([0.08, 0.02])
    monkeypatch.setattr(found, "clock", lambda run: next(times))
    found.counts = [1, 1]
    assert found.seconds() == pytest.approx(0.04)


def test_inputs_do_no_harm_in_any_table():
    ids, mask = symbol([5], "int64"), symbol([5], boolean)
    n, m = size_symbol("n"), size_symbol("m")
    x = symbol([n, m])
    picked = ops.index_select(constant(1, 8), 0, ids)
    y = ops.where(mask, ops.log(ops.sum(picked, 1)), 0.0)
    graph = FlowGraph([ids, mask, x], [y, ops.log(x)], limits={m.name: (32, 64)})
    numbers, flags, floats = harmless_inputs(graph, 64)
    assert not numbers.any()
    assert flags.all()
    assert floats.shape == (8, 32)
    assert np.isfinite(np.log(floats)).all()


def test_calls_that_could_do_harm_are_not_made():
    x = symbol([4])
    (looped,) = ops.while_loop(lambda v: ops.max(v, 0) < 100.0, lambda v: v * 2.0, x)
    endless = trace_from(looped, inputs=[x])
    with pytest.raises(BadArgument, match="when a loop ends"):
        Given(endless, {}, "cpu")
    table = constant(4, 3)
    changed = in_place(ops.scatter(table, 0, symbol([1, 3], "int64"), symbol([1, 3])))
    with pytest.raises(BadArgument, match="changes the weights"):
        Given(trace_from(changed), {}, "cpu")


def test_weights_elsewhere_are_not_measured():
    graph = dense()
    with pytest.raises(BadArgument, match="not on the device"):
        network.view_on("cuda:0", symbol([4]))
    assert network.view_on("cpu", graph.constants[0]).device == "cpu"


def test_what_the_framework_runs_gives_zeros():
    array = np.full((3, 4), np.nan, np.float32)
    blank([], [view_of(array)])
    assert not array.any()


def test_on_a_gpu_calls_follow_each_other_on_its_stream(lock, monkeypatch):
    """The device is made up: what is timed is noted. The GPU is busy until the host is ahead."""
    made = whole_of(draft_of(dense())).loader("cpu", lock)()
    seen = []

    def timed(run, device, stream):
        assert lock.is_locked
        seen.append((device, stream))
        run()
        return 0.3

    ahead = SimpleNamespace(
        keep_busy=lambda: seen.append("busy"), measured=lambda run: seen.append("host") or run()
    )
    monkeypatch.setattr(network, "device_seconds", timed)
    monkeypatch.setattr(made, "device", "cuda:0")
    monkeypatch.setattr(made, "ahead", ahead)
    made.counts = [3]
    assert made.seconds() == pytest.approx(0.1)
    assert seen == ["busy", ("cuda:0", 0), "host"]
    assert not lock.is_locked
