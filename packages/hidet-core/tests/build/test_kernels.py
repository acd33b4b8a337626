"""Groups as data: what goes to other processes."""

from hidet.build.ahead import Job
from hidet.build.draft import Draft
from hidet.build.explain import manner
from hidet.build.kernels import group_of, shape_of
from hidet.build.schedule import choices
from hidet.build.target import measurable
from hidet.graph import symbol, trace_from
from hidet.target import Target

CPU = Target.parse("cpu")


def test_a_choice_goes_to_other_processes():
    x, w = symbol([24, 40]), symbol([40, 36])
    (group,) = Draft(trace_from(x @ w, inputs=[x, w]), CPU, {}).groups["main"]
    group.choice = choices(group.anchor.op, CPU)[3].choice
    shape = shape_of(group)
    assert group_of(shape).choice == group.choice
    made = Job(shape, CPU, {}).answer()
    group.choice = None
    plain = Job(shape_of(group), CPU, {}).answer()
    assert made[0][2].functions != plain[0][2].functions
    assert str(choices(group.anchor.op, CPU)[3].point) in manner(group_of(shape), CPU)


def test_what_can_be_measured_here():
    assert measurable(CPU, "cpu") == "cpu"
    assert measurable(Target.parse("sim"), "cpu") is None
