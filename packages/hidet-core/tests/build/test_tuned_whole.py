"""Whole calls decide which of the schedules stay that were the fastest alone."""

import pytest

from hidet import ops
from hidet.build.measured import tuned, tuner
from hidet.build.measured.finals import Finals
from hidet.build.measured.network import Network
from hidet.build.measured.tuning_facts import device_name
from hidet.errors import OutOfMemory
from hidet.graph import symbol, trace_from
from hidet.options import options
from hidet.target import Target
from hidet.tuning import TuningWarning, store
from hidet.tuning.contest import Contest
from hidet.tuning.record import Record, lineup_names, name_of

from .tuned_graphs import check, choices, compiled, constant, dense, records, takes

pytestmark = pytest.mark.usefixtures("tuning")


class Measured(BaseException):
    """A candidate was measured alone; the tuner lets this through."""


def prefers(graph, monkeypatch):
    """A search that is over, and found another schedule than the cost model's the fastest alone."""
    compiled(graph, 1)
    (entry,) = records()
    for each in store.folder().glob("*.json"):
        each.unlink()
    monkeypatch.setattr(store, "_memory", {})
    other = choices(graph.nodes[0].op, Target.parse(entry["facts"]["target"]))[-1].choice
    store.keep(entry["facts"], device_name("cpu"), Record(2, name_of(other), ()))
    monkeypatch.setattr(Contest, "run", measured)
    return name_of(other)


def measured(self):
    raise Measured


def two_products():
    x = symbol([30, 20])
    return trace_from(ops.relu(x @ constant(20, 30)) @ constant(30, 40), inputs=[x])


@pytest.mark.parametrize(("second", "kept"), [(0.9, True), (0.995, False), (1.2, False)])
def test_what_was_fastest_alone_stays_only_if_calls_are_faster(second, kept, monkeypatch):
    graph = dense()
    plain = compiled(graph, 0)
    other = prefers(graph, monkeypatch)
    takes(monkeypatch, 1.0, second)
    made = compiled(graph, 2)
    assert (set(made.archive.binaries) != set(plain.archive.binaries)) is kept
    ((data,),) = (each["devices"].values() for each in records("network"))
    found = Record.from_json(data)
    assert found.level == 2
    assert lineup_names(found.best) == [other if kept else None]
    times = {tuple(lineup_names(each.name)): each.seconds for each in found.trials}
    assert times == {(None,): 1.0, (other,): second}


def test_whole_calls_are_measured_once_and_with_a_device(monkeypatch):
    graph = dense()
    prefers(graph, monkeypatch)
    takes(monkeypatch, 1.0, 0.5)
    first = compiled(graph, 2)
    again = compiled(graph, 2)  # a third network could not be loaded
    monkeypatch.setattr(tuned, "measurable", lambda target, device: None)
    monkeypatch.setattr(store, "_memory", {})
    elsewhere = compiled(graph, 2)
    for each in (again, elsewhere):
        assert set(each.archive.binaries) == set(first.archive.binaries)


def test_whole_calls_need_no_folder_of_records(tmp_path):
    with options(cache=False, cache_dir=str(tmp_path / "nothing" / "here")):
        search = tuner.Tuner(Target.parse("cpu"), "cpu")
        with search, search.whole_calls() as (device, lock, until), lock:
            assert (device, until) == ("cpu", None)


def test_whole_calls_are_measured_again_for_a_wider_space(monkeypatch):
    graph = dense()
    prefers(graph, monkeypatch)
    takes(monkeypatch, 1.0, 0.5, 1.0, 2.0)
    made = compiled(graph, 1)
    (entry,) = records("network")
    assert [each["level"] for each in entry["devices"].values()] == [1]
    assert set(compiled(graph, 2).archive.binaries) != set(made.archive.binaries)


def test_what_stops_whole_calls_is_told_and_the_cost_model_decides(monkeypatch):
    graph = dense()
    plain = compiled(graph, 0)
    prefers(graph, monkeypatch)

    def fail(self, archive, given, lock):
        raise OutOfMemory("no room for two")

    monkeypatch.setattr(Network, "__init__", fail)
    with pytest.warns(TuningWarning, match="whole calls were not measured: .*no room for two"):
        made = compiled(graph, 2)
    assert set(made.archive.binaries) == set(plain.archive.binaries)
    assert not records("network")


@pytest.mark.parametrize(
    ("of", "late"), [(tuner.Tuner, "is_late"), (Finals, "late")], ids=["searching", "building"]
)
def test_where_something_takes_all_the_time_the_cost_model_decides(of, late, monkeypatch):
    graph = dense()
    plain = compiled(graph, 0)
    prefers(graph, monkeypatch)
    takes(monkeypatch, 1.0, 0.5)
    monkeypatch.setattr(of, late, True)
    with pytest.warns(TuningWarning, match="whole calls were not measured: the time was up"):
        made = compiled(graph, 2)
    assert set(made.archive.binaries) == set(plain.archive.binaries)


def test_what_was_measured_before_the_time_was_up_stays(monkeypatch):
    graph = dense()
    plain = compiled(graph, 0)
    prefers(graph, monkeypatch)
    takes(monkeypatch, 1.0, 0.5)
    made = compiled(graph, 1)
    assert set(made.archive.binaries) != set(plain.archive.binaries)
    monkeypatch.setattr(tuner.Tuner, "is_late", True)
    with pytest.warns(TuningWarning, match="whole calls were not measured: the time was up"):
        again = compiled(graph, 2)
    assert set(made.archive.binaries) == set(again.archive.binaries)


def test_an_interrupt_of_whole_calls_keeps_what_they_have_shown(monkeypatch):
    graph = two_products()
    monkeypatch.setattr(tuner.Tuner, "rivals", two_rivals)
    takes(monkeypatch, 1.0, 0.5, 0.5, 0.5)

    plain = Finals.compare

    def compare(self, *given):
        plain(self, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Finals, "compare", compare)
    with pytest.warns(TuningWarning, match="the search for schedules was interrupted"):
        made = compiled(graph, 1)
    check(graph, made)
    (entry,) = records("network")
    ((data),) = entry["devices"].values()
    assert None not in lineup_names(Record.from_json(data).best)
    assert Record.from_json(data).level == 0


def two_rivals(self, subject):
    _, second, third, *_ = self.found(subject).values()
    return [None, second, third]
