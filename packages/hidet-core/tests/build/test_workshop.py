"""Candidates compiled beside each other, and groups alone as graphs."""

import os
import signal
from contextlib import contextmanager

import pytest

from hidet.build.choosing.choices import choices
from hidet.build.measured.compilers import AHEAD, Compilers
from hidet.build.measured.tuning_facts import Subject
from hidet.build.measured.workshop import Workshop
from hidet.build.planning.kernels import shape_of
from hidet.build.workers.remote import POOL
from hidet.build.workers.units import Units
from hidet.errors import CompilerError
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.options import options
from hidet.runtime.plans.archive import read
from hidet.schedules import base
from hidet.schedules.base import SCHEDULES, Choice, Schedule
from hidet.target import Target
from hidet.toolchain import CompiledCuda, ResourceUsage
from hidet.tuning.contest import Refused

CPU = Target.parse("cpu")


class Bed:
    """Takes everything for right."""

    def pose(self, problem):
        self.problem, self.checked = problem, []

    def check(self, number, archive):
        self.checked.append((number, archive))

    def time(self, number, repeats):
        return [1.0] * repeats


@pytest.fixture
def group(tmp_path):
    x, w = symbol([20, 24]), symbol([24, 16])
    graph = trace_from(x @ w, inputs=[x, w])
    with options(cache_dir=str(tmp_path)):
        yield Group(graph.nodes, graph.nodes[0])


@contextmanager
def workshop_for(group, bed=None, target=CPU):
    subject = Subject(shape_of(group))
    with Compilers(target) as compilers, Workshop(subject, compilers, bed or Bed()) as workshop:
        yield workshop


def test_candidates_are_compiled_each_to_an_archive_of_its_own(group):
    first, *_, second = (each.choice for each in choices(group.anchor.op, CPU))
    bed = Bed()
    with workshop_for(group, bed) as workshop:
        for each in (first, second):
            workshop.start(each)
        for each in (first, second):
            assert workshop.ready([each], None) == each
            workshop.check(each)
    (a, one), (b, other) = bed.checked
    assert (a, b) == (0, 1)
    assert one != other


def test_one_that_does_not_fit_is_refused(group):
    own = choices(group.anchor.op, CPU)[0].choice
    strange = Choice("no_such_schedule", own.point)
    with workshop_for(group) as workshop:
        workshop.start(strange)
        assert workshop.ready([strange], None)
        with pytest.raises(Refused, match="does not fit"):
            workshop.check(strange)


def test_leaving_waits_for_no_compiler(group):
    found = [each.choice for each in choices(group.anchor.op, CPU)]
    with options(workers=1, jobs=1), workshop_for(group) as workshop:
        for each in found:
            workshop.start(each)
        started = list(workshop.compilers.crew.futures.values())
    assert any(each.cancelled() for each in started)
    assert not workshop.compilers.crew.futures


def test_compilers_with_nothing_to_do_begin_with_the_next_group(group):
    other = symbol([24, 20]), symbol([20, 16])
    graph = trace_from(other[0] @ other[1], inputs=other)
    later = Subject(shape_of(Group(graph.nodes, graph.nodes[0])))
    ours, theirs = ([e.choice for e in choices(g.anchor.op, CPU)] for g in (group, later.group))
    many = [(later, each) for each in theirs]
    with options(workers=1, jobs=1), workshop_for(group) as workshop:
        compilers = workshop.compilers
        workshop.start(ours[0])
        compilers.upcoming = iter(many)
        workshop.spare()
        ahead = [item for item in compilers.crew.futures if item[0] != workshop.number]
        assert 1 <= len(ahead) <= AHEAD
        workshop.check(ours[0])
        with Workshop(later, compilers, bed := Bed()) as following:
            (number, choice), *_ = ahead
            assert following.number == number
            before = compilers.future(number, choice)
            following.start(choice)
            assert compilers.future(number, choice) is before
            following.check(choice)
    assert [number for number, _ in bed.checked] == [0]


def test_a_cpu_is_judged_by_its_shortest_time_a_gpu_by_the_median(group):
    subject = Subject(shape_of(group))
    assert Workshop(subject, Compilers(CPU), Bed()).typical([3.0, 1.0, 2.0]) == 1.0
    gpu = Workshop(subject, Compilers(Target.parse("sm_90a")), Bed())
    assert gpu.typical([3.0, 1.0, 2.0]) == 2.0


@pytest.fixture
def no_processes(monkeypatch):
    """None from other tests, and none left."""
    monkeypatch.setattr(POOL, "waiting", [])
    yield
    for each in POOL.waiting:
        each.end()


def test_other_processes_compile_where_they_are_worth_it(group, no_processes):
    found = [each.choice for each in choices(group.anchor.op, CPU)][:3]
    strange = Choice("no_such_schedule", found[0].point)
    beds = Bed(), Bed()
    for bed, workers in zip(beds, (1, 2), strict=True):
        with options(workers=workers, jobs=2), workshop_for(group, bed) as workshop:
            assert (workshop.compilers.team is not None) is (workers > 1)
            for each in (*found, strange):
                workshop.start(each)
            for each in found:
                workshop.check(each)
            with pytest.raises(Refused, match="does not fit"):
                workshop.check(strange)
    assert len(POOL.waiting) == 2
    here, there = ([read(archive, "it").plans for _, archive in bed.checked] for bed in beds)
    assert here == there


def test_a_compiler_that_breaks_down_costs_its_candidate_alone(group, no_processes, monkeypatch):
    first, *_, second = (each.choice for each in choices(group.anchor.op, CPU))
    take = POOL.take

    def killed():
        monkeypatch.setattr(POOL, "take", take)
        found = take()
        os.kill(found.process.pid, signal.SIGKILL)
        return found

    monkeypatch.setattr(POOL, "take", killed)
    with options(workers=2, jobs=1), workshop_for(group, bed := Bed()) as workshop:
        for each in (first, second):
            workshop.start(each)
        with pytest.raises(Refused, match="ended with status -9"):
            workshop.check(first)
        workshop.check(second)
    assert [number for number, _ in bed.checked] == [1]


def test_processes_that_cannot_be_started_end_the_search(group, no_processes, monkeypatch):
    def none_left():
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(POOL, "take", none_left)
    own = choices(group.anchor.op, CPU)[0].choice
    with options(workers=2), workshop_for(group) as workshop:
        workshop.start(own)
        with pytest.raises(BlockingIOError):
            workshop.check(own)


@pytest.mark.parametrize(
    ("workers", "jobs", "compilers", "processes"),
    [
        (0, 1, 1, False),
        (0, 2, 2, True),
        (0, 16, 16, True),
        (1, 16, 16, False),
        (4, 16, 4, True),
        (4, 2, 2, True),
    ],
)
def test_how_many_compile_and_where(workers, jobs, compilers, processes, monkeypatch):
    with options(workers=workers, jobs=jobs):
        made = Compilers(CPU)
        assert (made.crew.count, made.team is not None) == (compilers, processes)
        foreign = Schedule("theirs", (), "cuda", object, lambda *_: False, lambda *_: None)
        monkeypatch.setattr(base, "SCHEDULES", [*SCHEDULES, foreign])
        assert Compilers(CPU).team is None


@pytest.mark.parametrize(
    ("log", "spilled", "reason"),
    [("", 16, "registers are spilled"), ("Advisory C7510: ...", 0, "wgmma was serialised")],
)
def test_a_doubtful_kernel_is_an_error_where_strict(monkeypatch, log, spilled, reason, tmp_path):
    made = CompiledCuda(b"cubin", log, {"f": ResourceUsage(255, spilled, 0)})
    monkeypatch.setattr("hidet.build.workers.units.compile_cuda", lambda *args, **more: made)
    with options(cache_dir=str(tmp_path)):
        for strict in (False, True):  # what the cache has is looked at too
            units = Units(Target.parse("sm_90a"), strict=strict)
            unit = units.unit([])
            if strict:
                with pytest.raises(CompilerError, match=reason):
                    units.binary(unit)
            else:
                assert units.binary(unit) == b"cubin"
