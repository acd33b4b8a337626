"""Schedules chosen by measuring on this machine's CPU: checked, remembered, interrupted."""

import json
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from hidet import ops
from hidet.build import schedule, tuned
from hidet.build.compile import Draft, compile_graph
from hidet.build.tuning_facts import device_name, facts_of, subject_of
from hidet.cost import Work
from hidet.graph import evaluate, symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.lang import attr, parallel, script, script_module
from hidet.ops.matmul import Matmul
from hidet.options import options
from hidet.runtime.executor import Executor
from hidet.runtime.memory import array_of, view_of
from hidet.schedules.assemble import assemble
from hidet.schedules.base import AUTOMATIC, SCHEDULES, Scheduled, schedule_for
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.tuning import TuningWarning, contest, export, load, store
from hidet.tuning.contest import Contest
from hidet.tuning.record import Record, Trial, name_of

from .tuned_graphs import RANDOM, constant, convolution, dense

ALL = schedule.choices
CUDA = Target.parse("sm_90a")


def choices(op, target):
    """The first few candidates: so many take seconds."""
    return ALL(op, target)[:5]


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    monkeypatch.setattr(schedule, "choices", choices)
    monkeypatch.setattr(tuned, "BEST", 2)
    monkeypatch.setattr(contest, "ROUND_SECONDS", 0.05)


@pytest.fixture(autouse=True)
def own_records(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_memory", {})
    with options(cache_dir=str(tmp_path), progress=False):
        yield


def compiled(graph, level, **more):
    with options(search_space=level, **more):
        return compile_graph(graph)


def check(graph, made):
    """The compiled graph against its references."""
    arrays = [RANDOM.uniform(-1, 1, each.shape).astype(np.float32) for each in graph.inputs]
    found = Executor(made.with_weights(), "cpu")([view_of(each) for each in arrays])
    for view, expected, tensor in zip(found, evaluate(graph, *arrays), graph.outputs, strict=True):
        assert_close(array_of(view), expected, tensor.dtype, 64.0)


def records():
    return [json.loads(path.read_text()) for path in store.folder().glob("*.json")]


def only_record():
    (entry,) = records()
    ((name, data),) = entry["devices"].items()
    assert name == device_name("cpu")
    return Record.from_json(data)


class Measured(BaseException):
    """Something was measured; the tuner lets this through."""


def no_contest(monkeypatch):
    def fail(self):
        raise Measured

    monkeypatch.setattr(Contest, "run", fail)


def test_space_0_measures_nothing_and_keeps_nothing(monkeypatch):
    no_contest(monkeypatch)
    monkeypatch.setattr(tuned, "Testbed", None)
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
    op = next(n.op for n in graph.nodes if n.op.name in ("matmul", "conv"))
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


def test_an_imported_choice_that_is_wrong_here_is_told_and_measured_anew(
    tmp_path, monkeypatch, bad_schedule
):
    def nonsense(op, target, point):
        return Scheduled(filled(op, 7.0), point)

    bad_schedule(nonsense)
    graph = dense(columns=32)
    with pytest.warns(TuningWarning, match="are wrong"):
        compiled(graph, 1)
    export(tmp_path / "tuned.json")
    text = (tmp_path / "tuned.json").read_text()
    data = json.loads(text)
    (record,) = data["results"][0]["devices"].values()
    record["best"] = next(name for name, _, _ in record["trials"] if name[0] == "nonsense")
    (tmp_path / "edited.json").write_text(json.dumps(data))
    monkeypatch.setattr(store, "_memory", {})
    with options(cache_dir=str(tmp_path / "other")):
        load(tmp_path / "edited.json")
        with pytest.warns(TuningWarning, match="nonsense"):
            check(graph, compiled(graph, 1))
        assert "matmul_panels" in only_record().best


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


@dataclass(frozen=True)
class Cheap:
    """A point that the cost model likes best."""

    only: int = choice(0)

    def fits(self, op, target):
        return True

    def work(self, op, target):
        return Work(0, 0, 1.0, "float32", 1, 1)


@pytest.fixture
def bad_schedule():
    """Files a schedule of matrix products that the cost model likes best; gone after the test."""
    before = list(SCHEDULES)

    def file(build):
        schedule_for(Matmul, target="cpu", space=Cheap)(build)
        schedule.known_choices.cache_clear()

    yield file
    SCHEDULES[:] = before
    schedule.known_choices.cache_clear()


def filled(op, value, offset=0):
    """A module that fills the result with a number."""
    m, n = op.infer().shape

    with script_module():

        @script
        def fill(a: op.a, b: op.b, c: op.infer()) -> None:
            attr.func_kind = "cpu_kernel"
            for i in parallel(m):
                for j in range(n):
                    c[i + offset, j] = value

    return assemble("filled", [fill], ["a", "b"], ["c"])


def test_a_wrong_schedule_is_caught_and_told_and_a_right_one_chosen(bad_schedule):
    def nonsense(op, target, point):
        return Scheduled(filled(op, 7.0), point)

    bad_schedule(nonsense)
    graph = dense(columns=32)
    with pytest.warns(TuningWarning, match=r"1 of 2 schedules of matmul.*\n.*nonsense.*are wrong"):
        made = compiled(graph, 1)
    check(graph, made)
    assert "matmul_panels" in only_record().best


def test_where_all_are_wrong_the_automatic_schedule_is_taken(monkeypatch, bad_schedule):
    def nonsense(op, target, point):
        return Scheduled(filled(op, 7.0), point)

    bad_schedule(nonsense)
    graph = dense(columns=32)
    record = Record(2, None, (Trial('["nonsense", {"only": 0}]', None, "1 element is wrong"),))
    found = {record.trials[0].name: ALL(graph.nodes[0].op, Target.parse("cpu"))[0].choice}
    assert tuned.chosen(record, found) == AUTOMATIC
    monkeypatch.setattr(tuned.Tuner, "choice", lambda self, subject: AUTOMATIC)
    check(graph, compiled(graph, 1))


def test_a_crash_of_one_keeps_the_others(bad_schedule):
    def crashing(op, target, point):
        return Scheduled(filled(op, 7.0, offset=1 << 28), point)

    bad_schedule(crashing)
    graph = dense(columns=32)
    with pytest.warns(TuningWarning, match="it crashed: SIGSEGV"):
        made = compiled(graph, 1)
    check(graph, made)


def test_one_that_cannot_be_built_keeps_the_others(bad_schedule):
    def failing(op, target, point):
        raise ZeroDivisionError("no tile of nothing")

    bad_schedule(failing)
    graph = dense(columns=32)
    with pytest.warns(TuningWarning, match="ZeroDivisionError: no tile of nothing"):
        made = compiled(graph, 1)
    check(graph, made)


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


def test_a_deadline_keeps_the_best_and_compiles_on(monkeypatch):
    monkeypatch.setattr("hidet.build.tuned.time", Clock())
    x = symbol([300, 200])
    y = ops.relu(x @ constant(200, 300)) @ constant(300, 400)
    graph = trace_from(y, inputs=[x])
    begin = time.monotonic()
    with pytest.warns(TuningWarning, match="operators were not measured: the time was up"):
        made = compiled(graph, 2, tune_seconds=1)
    assert time.monotonic() - begin < 20
    check(graph, made)


def test_what_stops_the_tuner_does_not_stop_the_compiler(monkeypatch):
    def fail(*given):
        raise ValueError("no such shape")

    monkeypatch.setattr("hidet.build.workshop.problem_of", fail)
    graph = dense()
    with pytest.warns(TuningWarning, match="matmul_add_relu is not tuned: no such shape"):
        made = compiled(graph, 1)
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
    monkeypatch.setattr(tuned, "Testbed", FakeBed)
    monkeypatch.setattr(tuned, "measurable", lambda target, device: "cuda:0")
    monkeypatch.setattr(tuned, "device_name", lambda device: "NVIDIA Test")
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
