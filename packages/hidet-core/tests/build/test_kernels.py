"""Groups as data: what goes to other processes."""

import pickle

from hidet import ops
from hidet.build.ahead import Job
from hidet.build.choosing.choices import choices
from hidet.build.draft import Draft
from hidet.build.planning.kernels import group_of, key_of_group, shape_of, worked_out
from hidet.build.reports.explain import manner
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


def test_places_in_larger_tensors_go_along():
    x, w = symbol(["m", 24]), symbol([24, 8])
    graph = trace_from(ops.concat([ops.relu(x @ w), ops.softmax(x, 1)], 1), inputs=[x, w])
    (group, *_) = Draft(graph, CPU, {}).groups["main"]
    shape = pickle.loads(pickle.dumps(shape_of(group)))
    again = group_of(shape)
    assert [str(each.tensor.type.layout) for each in again.output_views] == ["(0, 0) in (m, 32)"]
    assert not again.stored
    here, there = worked_out(group, CPU), Job(shape, CPU, {}).answer()
    assert [made[2].functions for made in there] == [made[2].functions for made in here]
    plain = Job(shape_of(group.apart), CPU, {}).answer()
    assert plain[0][2].functions != here[0][2].functions


def test_groups_with_zeros_of_either_sign_are_not_alike():
    x = symbol([8])
    made = [Draft(trace_from(x / zero, inputs=[x]), CPU, {}).groups["main"] for zero in (0.0, -0.0)]
    assert len({key_of_group(group, CPU) for (group,) in made}) == 2


def test_what_can_be_measured_here():
    assert measurable(CPU, "cpu") == "cpu"
    assert measurable(Target.parse("sim"), "cpu") is None
