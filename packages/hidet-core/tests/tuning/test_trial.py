"""The other end of a testbed, in this process: constants, poisoned memory, and agreement."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.measured.attempt import Attempt, alone
from hidet.build.planning.kernels import shape_of
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.options import options
from hidet.runtime.binding.memory import array_of
from hidet.runtime.plans.archive import read
from hidet.target import Target
from hidet.tuning import trial
from hidet.tuning.problem import problem_of
from hidet.tuning.trial import Poisoned, Process, Trials
from hidet.tuning.verdict import Expected, Problem

CPU = Target.parse("cpu")
X = np.linspace(-1, 1, 24, dtype=np.float32)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Two graphs of one signature that compute different things."""
    x = symbol([24])
    with options(cache_dir=str(tmp_path_factory.mktemp("cache"))):
        graphs = (trace_from(each, inputs=[x]) for each in (ops.relu(x), x * 1.0))
        return [compile_graph(each).archive.to_bytes() for each in graphs]


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """A product whose right operand is the same at all calls: its panels are made once."""
    x, w = symbol([20, 24]), symbol([24, 40])
    graph = trace_from(x @ w, inputs=[x, w])
    group = Group(graph.nodes, graph.nodes[0])
    with options(cache_dir=str(tmp_path_factory.mktemp("cache"))):
        archive = Attempt(shape_of(group), (1,), CPU).answer()
    problem = problem_of(group, alone(group), 1.0)
    return archive, replace(problem, constants=(1,))


def test_what_depends_on_constants_alone_is_made_before_measuring(product):
    archive, problem = product
    plans = read(archive, "a candidate").plans
    assert len(plans["prepare"].steps) == len(plans["main"].steps) == 1
    trials = Trials(problem, "cpu")
    assert len(trials.inputs) == 1
    assert trials.check(0, archive) == ""
    assert trials.check(1, archive) == ""
    kept = [each.constants["derived0"].pointer for each in trials.programs.values()]
    assert len(set(kept)) == 2  # each its own, and not where results go
    assert trials.check(0, archive) == ""


def test_memory_is_full_of_nan_and_outputs_are_shared():
    memory = Poisoned("cpu")
    assert np.isnan(array_of(memory.empty(64, "cpu")).view(np.float32)).all()
    first = memory.output(0, (4,), "float32", "cpu")
    assert memory.output(0, (4,), "float32", "cpu") is first


def test_a_candidate_is_compared_everywhere_with_one_that_is_right_at_samples(archives):
    at = np.asarray([20, 23])  # where both graphs agree
    problem = Problem((X,), (Expected(at, X[at].astype(np.float64), "float32"),), 4)
    trials = Trials(problem, "cpu")
    relu, same = archives
    assert trials.check(0, relu) == ""
    assert "compared with the cost model's choice, 12 of 24" in trials.check(1, same)
    assert trials.check(2, relu) == ""


def test_repeats_end_with_the_time(archives):
    problem = Problem((X,), (Expected(None, np.maximum(X, 0.0), "float32"),), 4)
    trials = Trials(problem, "cpu")
    assert trials.check(0, archives[0]) == ""
    assert len(trials.time(0, 7, 10.0)) == 7
    assert len(trials.time(0, 10**6, 0.05)) < 10**6
    assert len(trials.time(0, 7, 0.0)) == 1


def test_a_process_answers_one_question_after_the_other(archives, tmp_path):
    process = Process("cpu", str(tmp_path / "lock"))
    problem = Problem((X,), (Expected(None, np.maximum(X, 0.0), "float32"),), 4)
    assert process.answer("pose", problem) is None
    assert process.answer("check", 0, archives[0]) == ""
    assert len(process.answer("time", 0, 2, 1.0)) == 2


@pytest.mark.parametrize(("weights", "runs"), [(1, 3), (1 << 40, 2)])
def test_a_small_network_finds_its_weights_in_a_cache(archives, monkeypatch, weights, runs):
    problem = Problem((X,), (Expected(None, np.maximum(X, 0.0), "float32"),), 4, weights=weights)
    trials = Trials(problem, "cpu")
    assert trials.check(0, archives[0]) == ""
    ran = []
    plain = trials.run
    monkeypatch.setattr(trials, "run", lambda number: ran.append(number) or plain(number))
    monkeypatch.setattr(trials, "flush", ran.clear)
    trials.time(0, 1, 1.0)
    assert len(ran) == runs - 1  # what ran ahead of the flush is gone


def test_on_a_gpu_inputs_are_written_again_behind_the_flush(archives, monkeypatch):
    """The driver is made up: copies within the device are noted."""
    problem = Problem((X,), (Expected(None, np.maximum(X, 0.0), "float32"),), 4, weights=1 << 40)
    trials = Trials(problem, "cpu")
    assert trials.check(0, archives[0]) == ""
    steps = []
    monkeypatch.setattr(trials, "device", "cuda:0")
    monkeypatch.setattr(trial, "Work", lambda device, stream: nullcontext())
    monkeypatch.setattr(trial, "call", lambda name, *given: steps.append((name, *given)))
    monkeypatch.setattr(trials, "flush", lambda: steps.append("flush"))
    (view,) = trials.inputs
    trials.written = [(view, trials.copy(view))]
    copied = steps.pop()
    assert copied[0] == "cuMemcpyDtoDAsync"
    assert copied[2:] == (view.pointer, view.nbytes, 0)

    def timed(run, device, stream):
        steps.append("timed")
        return 1.0

    monkeypatch.setattr(trial, "device_seconds", timed)
    assert trials.once(0) == 1.0
    again = ("cuMemcpyDtoDAsync", view.pointer, copied[1], view.nbytes, 0)
    assert steps == ["flush", again, "timed"]
