"""The other end of a testbed, in this process: whose turn it is, poisoned memory, and agreement."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import symbol, trace_from
from hidet.options import options
from hidet.runtime.memory import array_of
from hidet.tuning.trial import MOST_TURNS, Poisoned, Process, Trials
from hidet.tuning.verdict import Expected, Problem

X = np.linspace(-1, 1, 24, dtype=np.float32)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Two graphs of one signature that compute different things."""
    x = symbol([24])
    with options(cache_dir=str(tmp_path_factory.mktemp("cache"))):
        graphs = (trace_from(each, inputs=[x]) for each in (ops.relu(x), x * 1.0))
        return [compile_graph(each).archive.to_bytes() for each in graphs]


def test_inputs_take_turns_so_that_caches_do_not_help():
    trials = Trials(Problem((X,), (), 4), "cpu")
    assert len(trials.turns) == MOST_TURNS
    assert len({turn[0].pointer for turn in trials.turns}) == MOST_TURNS
    large = np.zeros(40 << 18, np.float32)
    assert len(Trials(Problem((large,), (), 4), "cpu").turns) == 1


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
