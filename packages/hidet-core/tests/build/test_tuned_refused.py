"""Schedules that are wrong, crash or cannot be built are told and never chosen."""

import json
from dataclasses import dataclass

import pytest

from hidet.build.choosing import choices as known
from hidet.build.measured import tuner
from hidet.cost import Work
from hidet.lang import attr, parallel, script, script_module
from hidet.ops.products.matmul import Matmul
from hidet.options import options
from hidet.schedules.assemble import assemble
from hidet.schedules.base import AUTOMATIC, SCHEDULES, Scheduled, schedule_for
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.tuning import TuningWarning, export, load, store
from hidet.tuning.record import Record, Trial

from .tuned_graphs import ALL, check, compiled, dense, only_record

pytestmark = pytest.mark.usefixtures("tuning")


@dataclass(frozen=True)
class Cheap:
    """A point that the cost model likes best."""

    only: int = choice(0)

    def fits(self, op, target):
        return True

    def work(self, op, target):
        return Work(0, 0, 1.0, "float32", 1, 1)


def forget():
    """Let schedules be looked for again."""
    known.known_choices.cache_clear()
    known.known_points.cache_clear()


@pytest.fixture
def bad_schedule():
    """Files a schedule of matmuls that the cost model likes best; gone after the test."""
    before = list(SCHEDULES)

    def file(build):
        schedule_for(Matmul, target="cpu", space=Cheap)(build)
        forget()

    yield file
    SCHEDULES[:] = before
    forget()


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
    assert tuner.chosen(record, found) == AUTOMATIC
    monkeypatch.setattr(tuner.Tuner, "choice", lambda self, subject: AUTOMATIC)
    monkeypatch.setattr(tuner.Tuner, "rivals", lambda self, subject: [AUTOMATIC])
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
