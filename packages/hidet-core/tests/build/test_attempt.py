"""One candidate compiled alone: an archive, or in words why there is none, in any process."""

import pickle
from dataclasses import replace

import pytest

from hidet.build.choosing.choices import choices
from hidet.build.measured.attempt import Attempt, alone
from hidet.build.planning.kernels import shape_of
from hidet.build.workers.remote import POOL, Team
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.options import options
from hidet.runtime.plans.archive import read
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.tuning.verdict import constant_name

CPU = Target.parse("cpu")


@pytest.fixture
def shape(tmp_path, monkeypatch):
    """A product at one of its candidates; no processes are left."""
    x, w = symbol([20, 24]), symbol([24, 16])
    graph = trace_from(x @ w, inputs=[x, w])
    monkeypatch.setattr(POOL, "waiting", [])
    with options(cache_dir=str(tmp_path)):
        second = choices(graph.nodes[0].op, CPU)[1].choice
        yield replace(shape_of(Group(graph.nodes, graph.nodes[0])), choice=second)
    for each in POOL.waiting:
        each.end()


def test_constants_are_weights_and_what_is_made_of_them_is_made_before(shape):
    found = read(Attempt(shape, (1,), CPU).answer(), "it")
    assert [b.name for b in found.main.buffers if b.role == "input"] == ["input0"]
    made = [b.name for b in found.plans["prepare"].buffers if b.role == "weight"]
    assert made == [constant_name(1)]


def test_another_process_makes_the_same(shape):
    attempt = Attempt(shape, (1,), CPU)
    assert pickle.loads(pickle.dumps(attempt)) == attempt
    here, there = (read(each.answer(), "it") for each in (attempt, Elsewhere(attempt)))
    assert here.plans == there.plans
    assert set(here.binaries) == set(there.binaries)


class Elsewhere:
    """The same question, answered by a process."""

    def __init__(self, attempt):
        self.attempt = attempt

    def answer(self):
        return Team().ask(self.attempt)


def test_a_candidate_that_cannot_be_is_told_in_words(shape):
    strange = replace(shape, choice=Choice("no_such_schedule", shape.choice.point))
    assert "does not fit" in Attempt(strange, (), CPU).answer()
    broken = replace(shape, wiring=())
    assert Attempt(broken, (), CPU).answer().startswith("IndexError: ")


def test_options_are_those_of_who_asked(shape):
    with options(tf32=True):
        attempt = Attempt(shape, (), CPU)
    assert attempt.settings["tf32"] is True
    assert attempt.settings["dump"] == ""


def test_symbols_of_no_input_become_sizes_of_one():
    n = size_symbol("n")
    x, w = symbol([n * 4, 8]), symbol([8, 8])
    graph = trace_from(x @ w, inputs=[x, w])
    assert [len(each.shape) for each in alone(Group(graph.nodes)).inputs] == [2, 2, 1]
