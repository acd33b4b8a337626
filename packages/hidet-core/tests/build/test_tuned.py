"""Schedules chosen by measuring on this machine's CPU: checked, remembered, interrupted."""

import time
import warnings

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing.grouping import optimized
from hidet.build.compile import compile_graph
from hidet.build.draft import Draft
from hidet.build.measured import rounds, tuned, tuner
from hidet.build.measured.tuning_facts import device_name, facts_of, subject_of
from hidet.graph import evaluate, symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.options import options
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.tuning import TuningWarning, export, load, store
from hidet.tuning.contest import Contest
from hidet.tuning.record import Record, Trial, name_of

from .tuned_graphs import (
    RANDOM,
    check,
    choices,
    compiled,
    constant,
    convolution,
    dense,
    only_record,
    records,
    takes,
)

CUDA = Target.parse("sm_90a")
pytestmark = pytest.mark.usefixtures("tuning")


class Measured(BaseException):
    """Something was measured; the tuner lets this through."""


def no_contest(monkeypatch):
    def fail(self):
        raise Measured

    monkeypatch.setattr(Contest, "run", fail)


def test_space_0_measures_nothing_and_keeps_nothing(monkeypatch):
    no_contest(monkeypatch)
    monkeypatch.setattr(tuner, "Testbed", None)
    graph = dense()
    check(graph, compiled(graph, 0))
    assert not records()


@pytest.mark.parametrize("make", [dense, convolution])
def test_the_best_few_are_measured_and_the_best_is_built(make):
    graph = make()
    made = compiled(graph, 1)
    check(graph, made)
    record = only_record()
    assert record.level == 1
    assert len(record.trials) == 2
    assert all(each.seconds is not None and each.seconds > 0 for each in record.trials)
    assert record.best in {each.name for each in record.trials}


@pytest.mark.parametrize("make", [dense, convolution])
def test_the_whole_space_is_measured(make):
    graph = make()
    check(graph, compiled(graph, 2))
    record = only_record()
    made = optimized(graph, measured_target())
    op = next(n.op for n in made.nodes if n.op.name in ("matmul", "conv"))
    names = {name_of(each.choice) for each in choices(op, measured_target())}
    assert record.level == 2
    assert {each.name for each in record.trials} == names


def measured_target():
    (entry,) = records()
    return Target.parse(entry["facts"]["target"])


def test_what_is_known_is_not_measured_again(monkeypatch):
    graph = dense()
    compiled(graph, 1)
    monkeypatch.setattr(store, "_memory", {})
    no_contest(monkeypatch)
    check(graph, compiled(graph, 1))
    alike = dense()
    check(alike, compiled(alike, 1))
    with pytest.raises(Measured):
        compiled(graph, 2)  # the whole space is more


def test_sizes_of_one_bucket_share_what_was_measured(monkeypatch):
    compiled(dense(rows=1000), 1)
    no_contest(monkeypatch)
    graph = dense(rows=1016)
    check(graph, compiled(graph, 1))
    with pytest.raises(Measured):
        compiled(dense(rows=1001), 1)


def test_a_wider_space_goes_on_where_the_smaller_one_ended(monkeypatch):
    graph = dense()
    compiled(graph, 1)
    first = only_record()
    seen = []
    plain = Contest.look
    monkeypatch.setattr(Contest, "look", lambda self, c: (seen.append(name_of(c)), plain(self, c)))
    compiled(graph, 2)
    again = {each.name for each in first.trials} & set(seen)
    own = name_of(choices(graph.nodes[0].op, measured_target())[0].choice)
    assert again == {first.best, own}
    assert len(only_record().trials) == len(choices(graph.nodes[0].op, measured_target()))


def test_the_choice_is_what_is_compiled_and_enters_the_key(monkeypatch):
    graph = dense()
    plain = compiled(graph, 0)
    compiled(graph, 1)
    (entry,) = records()
    op, target = graph.nodes[0].op, measured_target()
    slow = choices(op, target)[-1].choice
    record = Record(2, name_of(slow), ())
    store.keep(entry["facts"], device_name("cpu"), record)
    no_contest(monkeypatch)
    takes(monkeypatch, 1.0, 0.5)
    other = compiled(graph, 2)
    assert set(other.archive.binaries) != set(plain.archive.binaries)
    check(graph, other)


def test_results_are_exported_and_loaded(tmp_path, monkeypatch):
    graph = dense()
    compiled(graph, 1)
    assert export(tmp_path / "tuned.json") == 1
    monkeypatch.setattr(store, "_memory", {})
    no_contest(monkeypatch)
    with options(cache_dir=str(tmp_path / "other")):
        assert load(tmp_path / "tuned.json") == 1
        assert only_record().imported
        check(graph, compiled(graph, 1))
        assert not only_record().imported  # its best candidate was checked


def test_symbolic_sizes_are_measured_at_a_typical_one():
    n = size_symbol("n")
    x = symbol([n, 24])
    graph = trace_from(ops.relu(x @ constant(24, 40)), inputs=[x])
    made = compiled(graph, 1)
    assert only_record().level == 1
    for rows in (1, 7, 130):
        array = RANDOM.uniform(-1, 1, (rows, 24)).astype(np.float32)
        (view,) = Executor(made.with_weights(), "cpu")([view_of(array)])
        assert_close(array_of(view), evaluate(graph, array)[0], graph.outputs[0].dtype, 64.0)


def test_an_interrupt_keeps_the_best_and_compiles_on(monkeypatch):
    looked = []
    plain = Contest.look

    def look(self, choice):
        if len(looked) == 2:
            raise KeyboardInterrupt
        looked.append(choice)
        plain(self, choice)

    monkeypatch.setattr(Contest, "look", look)
    graph = dense()
    with pytest.warns(TuningWarning, match="was interrupted"):
        made = compiled(graph, 2)
    check(graph, made)
    record = only_record()
    assert record.level == 0
    assert record.best in {name_of(each) for each in looked}
    # The next compilation goes on with what was not measured.
    monkeypatch.setattr(Contest, "look", plain)
    compiled(graph, 2)
    assert only_record().level == 2


def test_an_interrupted_wider_search_keeps_what_was_best_before(monkeypatch):
    graph = dense()
    compiled(graph, 1)
    before = only_record()
    monkeypatch.setattr(Contest, "look", interrupted)
    with pytest.warns(TuningWarning, match="was interrupted"):
        check(graph, compiled(graph, 2))
    assert only_record() == before


def interrupted(self, choice):
    raise KeyboardInterrupt


class Clock:
    """Time that goes on by more than half a second whenever someone looks at it."""

    def __init__(self):
        self.looks = 0

    def monotonic(self):
        self.looks += 1
        return time.monotonic() + 0.6 * self.looks


def two_products():
    x = symbol([30, 20])
    return trace_from(ops.relu(x @ constant(20, 30)) @ constant(30, 40), inputs=[x])


def test_the_best_few_of_all_come_before_the_whole_space_of_any(monkeypatch):
    seen = []

    def search(self, subject, found, before):
        seen.append((subject, self.round.most))
        level = 2 if self.round.last else 0
        names = list(found)[: self.round.most]
        return Record(level, names[0], tuple(Trial(name, 1.0) for name in names))

    monkeypatch.setattr(tuner.Tuner, "search", search)
    compiled(two_products(), 2)
    few = rounds.BEST
    assert [most for _, most in seen] == [few, few, 4 * few, 4 * few, None, None]
    one, other, *rest = (subject for subject, _ in seen)
    assert one != other
    assert set(rest[:2]) == set(rest[2:]) == {one, other}
    seen.clear()
    compiled(two_products(), 2)
    assert not seen


def test_what_is_known_is_kept_while_a_search_goes_on(monkeypatch):
    class Killed(BaseException):
        """Nothing can be done after it."""

    def kill(self, repeats):
        raise Killed

    monkeypatch.setattr(Contest, "round", kill)
    monkeypatch.setattr("hidet.tuning.search.KEEP_SECONDS", 0)
    with pytest.raises(Killed):
        compiled(dense(), 2)
    record = only_record()
    assert record.level == 0
    assert len(record.trials) == 5


def test_a_deadline_keeps_the_best_and_compiles_on(monkeypatch):
    monkeypatch.setattr("hidet.build.measured.tuner.time", Clock())
    x = symbol([300, 200])
    y = ops.relu(x @ constant(200, 300)) @ constant(300, 400)
    graph = trace_from(y, inputs=[x])
    with pytest.warns(
        TuningWarning, match="operators were not measured to the end: the time was up"
    ) as said:
        made = compiled(graph, 2, tune_seconds=1)
    assert {each.filename for each in said} == {compiled.__code__.co_filename}
    check(graph, made)


def test_what_stops_the_tuner_does_not_stop_the_compiler(monkeypatch):
    def fail(*given):
        raise ValueError("no such shape")

    monkeypatch.setattr("hidet.build.measured.workshop.problem_of", fail)
    graph = dense()
    with pytest.warns(TuningWarning, match="matmul_add_relu is not tuned: no such shape") as said:
        made = compiled(graph, 1)
    assert {each.filename for each in said} == {compiled.__code__.co_filename}
    check(graph, made)
    assert not records()


def test_only_what_is_built_is_dumped(tmp_path):
    folder = tmp_path / "dump"
    compiled(dense(), 1, dump=str(folder))
    names = [each.name for each in folder.iterdir() if each.name.startswith("matmul")]
    assert sorted(each.rpartition("_")[0] for each in names) == [
        "matmul_add_relu",
        "matmul_add_relu_pack",
    ]


def test_without_such_a_device_the_cost_model_decides_or_a_record_does():
    graph = dense(64, 64, 64, "float16")
    absent = pytest.warns(TuningWarning, match="no device here runs sm_90a")
    with absent, options(search_space=2):
        plain = compile_graph(graph, CUDA)
    (group,) = [g for g in Draft(graph, CUDA, names(graph)).groups["main"] if g.anchor]
    subject = subject_of(group)
    other = choices(group.anchor.op, CUDA)[4].choice
    store.keep(facts_of(subject, CUDA), "NVIDIA H200", Record(2, name_of(other), ()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with options(search_space=2):
            made = compile_graph(graph, CUDA)
    assert set(made.archive.binaries) != set(plain.archive.binaries)


def names(graph):
    return {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)}


class FakeBed:
    """A GPU that is not there: every archive is right, and its size is its time."""

    def __init__(self, device, lock):
        self.archives = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def pose(self, problem):
        self.problem = problem

    def check(self, number, archive):
        self.archives[number] = archive

    def time(self, number, repeats):
        return [len(self.archives[number]) * 1e-9] * repeats


def test_candidates_for_a_gpu_are_compiled_and_the_quickest_taken(monkeypatch):
    monkeypatch.setattr(tuner, "Testbed", FakeBed)
    monkeypatch.setattr(tuned, "measurable", lambda target, device: "cuda:0")
    monkeypatch.setattr(tuner, "device_name", lambda device: "NVIDIA Test")
    graph = dense(64, 64, 64, "float16")
    draft = Draft(graph, CUDA, names(graph))
    with options(search_space=1):
        (chosen,) = tuned.tuned(draft.groups["main"], CUDA, "cuda:0")
    (entry,) = records()
    record = Record.from_json(entry["devices"]["NVIDIA Test"])
    assert record.level == 1
    assert len(record.trials) == 2
    fine = [each for each in record.trials if each.seconds is not None]
    assert fine
    assert record.best in {each.name for each in fine}
    own = choices(draft.groups["main"][0].anchor.op, CUDA)[0].choice
    assert chosen == "None" or record.best != name_of(own)
