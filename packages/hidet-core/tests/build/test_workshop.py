"""Candidates compiled beside each other, and groups alone as graphs."""

import pytest

from hidet.build.kernels import shape_of
from hidet.build.schedule import choices
from hidet.build.tuning_facts import Subject
from hidet.build.units import Units
from hidet.build.workshop import Workshop, alone
from hidet.errors import CompilerError
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.options import options
from hidet.schedules.base import Choice
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


def test_candidates_are_compiled_each_to_an_archive_of_its_own(group):
    first, second, *_ = (each.choice for each in choices(group.anchor.op, CPU))
    bed = Bed()
    with Workshop(Subject(shape_of(group)), first, CPU, bed) as workshop:
        for each in (first, second):
            workshop.start(each)
        for each in (first, second):
            assert workshop.ready(each, None)
            workshop.check(each)
    (a, one), (b, other) = bed.checked
    assert (a, b) == (0, 1)
    assert one != other


def test_one_that_does_not_fit_is_refused(group):
    own = choices(group.anchor.op, CPU)[0].choice
    strange = Choice("no_such_schedule", own.point)
    with Workshop(Subject(shape_of(group)), own, CPU, Bed()) as workshop:
        workshop.start(strange)
        assert workshop.ready(strange, None)
        with pytest.raises(Refused, match="does not fit"):
            workshop.check(strange)


def test_leaving_waits_for_no_compiler(group):
    found = [each.choice for each in choices(group.anchor.op, CPU)]
    with Workshop(Subject(shape_of(group)), found[0], CPU, Bed()) as workshop:
        for each in found:
            workshop.start(each)
    assert any(each.cancelled() for each in workshop.crew.futures.values())


def test_a_cpu_is_judged_by_its_shortest_time_a_gpu_by_the_median(group):
    own = choices(group.anchor.op, CPU)[0].choice
    assert Workshop(Subject(shape_of(group)), own, CPU, Bed()).typical([3.0, 1.0, 2.0]) == 1.0
    gpu = Workshop(Subject(shape_of(group)), own, Target.parse("sm_90a"), Bed())
    assert gpu.typical([3.0, 1.0, 2.0]) == 2.0


def test_symbols_of_no_input_become_sizes_of_one():
    n = size_symbol("n")
    x, w = symbol([n * 4, 8]), symbol([8, 8])
    graph = trace_from(x @ w, inputs=[x, w])
    assert [len(each.shape) for each in alone(Group(graph.nodes)).inputs] == [2, 2, 1]


@pytest.mark.parametrize(
    ("log", "spilled", "reason"),
    [("", 16, "registers are spilled"), ("Advisory C7510: ...", 0, "wgmma was serialised")],
)
def test_a_doubtful_kernel_is_an_error_where_strict(monkeypatch, log, spilled, reason, tmp_path):
    made = CompiledCuda(b"cubin", log, {"f": ResourceUsage(255, spilled, 0)})
    monkeypatch.setattr("hidet.build.units.compile_cuda", lambda *args, **more: made)
    with options(cache_dir=str(tmp_path)):
        for strict in (False, True):  # what the cache has is looked at too
            units = Units(Target.parse("sm_90a"), strict=strict)
            unit = units.unit([])
            if strict:
                with pytest.raises(CompilerError, match=reason):
                    units.binary(unit)
            else:
                assert units.binary(unit) == b"cubin"
