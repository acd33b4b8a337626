"""What bodies are given in one of their iterations."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.stages.iterations import given_to_bodies, needs_framework
from hidet.graph import Foreign, apply, symbol, trace_from
from hidet.graph.foreign import ResultTypes
from hidet.types import boolean, i64


def region(outputs, inputs):
    (op,) = (n.op for n in trace_from(outputs, inputs).nodes if n.op.kind == "region")
    return op


def doubled():
    """A loop that doubles what it is given, as often as its first operand says."""
    x, trips = symbol((2,)), symbol((), i64)
    ((y,), _, _) = ops.loop(lambda iteration, x: (None, [x * 2.0], ()), [x], trips=trips, most=9)
    return region([y], [trips, x])


@pytest.mark.parametrize(("iteration", "seen"), [(0, 0), (2, 2), (3, 3), (8, 3)])
def test_the_iteration_asked_for_or_the_last_one(iteration, seen):
    found = given_to_bodies(doubled(), [np.array(4), np.float32([1, -3])], iteration)
    ((name, body, (iteration, x)),) = found
    assert name == "body"
    assert len(body.graph.inputs) == 2
    assert iteration == seen
    np.testing.assert_array_equal(x, np.array([1.0, -3.0]) * 2**seen)


def test_a_loop_without_iterations_gives_its_body_nothing():
    assert given_to_bodies(doubled(), [np.array(0), np.float32([1, -3])], 0) == []


def test_only_the_branch_that_runs():
    x, flag = symbol((2,)), symbol((), boolean)
    op = region([ops.if_(flag, lambda x: x + 1.0, lambda x: x - 1.0, x)], [flag, x])
    for holds, branch in ((True, "then"), (False, "else")):
        ((name, _, _),) = given_to_bodies(op, [np.array(holds), np.float32([1, 2])], 0)
        assert name == branch


def test_bodies_with_steps_of_the_framework():
    x, flag = symbol((2,)), symbol((), boolean)

    def foreign(x):
        return apply(Foreign, (x,), key="aten.example", gives=ResultTypes((x.type,)))

    def nested(x):
        return ops.if_(ops.sum(x) > 0.0, foreign, lambda x: x, x)

    assert needs_framework(region([ops.if_(flag, nested, lambda x: x, x)], [flag, x]))
    assert not needs_framework(doubled())
