"""Which reductions need one meeting, and who has how many elements."""

import pytest

from hidet.compute import Input
from hidet.compute.functions import exp
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Var, constant
from hidet.schedules.automatic.cuda.meeting import Crowd, meetings
from hidet.schedules.automatic.emit import Accumulator, row_level
from hidet.schedules.automatic.plan import plan
from hidet.types import f32, i32

LANE = Var("lane", i32)


def met(function):
    """The numbers of the reductions of a function, meeting by meeting."""
    x = Input("x", f32[4, 32])
    (stage,) = plan([x], [function(x)]).stages
    totals = [Accumulator(each, str(n)) for n, each in enumerate(row_level(stage))]
    crowd = Crowd(LANE, 32, 1, 1, 32)
    return [list(each.parts) for each in meetings(totals, crowd)]


def softmax(x):
    powers = exp(x - x.max((1,)))
    return powers / powers.sum((1,))


def norm(x):
    centred = x - x.mean((1,))
    return centred * (centred * centred).mean((1,))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x / x.sum((1,)), [[0]]),
        (lambda x: x * x.max((1,)) + x.min((1,)), [[0, 1]]),
        (softmax, [[0, 1]]),
        (norm, [[0, 1]]),
        (lambda x: x * (x - x.max((1,))).sum((1,)), [[0], [1]]),
        (lambda x: softmax(x - x.mean((1,))), [[0], [1, 2]]),
    ],
)
def test_sums_about_a_centre_need_no_meeting_of_their_own(function, expected):
    assert met(function) == expected


@pytest.mark.parametrize("elements", [1, 7, 129, 256, 4096, 4099])
@pytest.mark.parametrize("lanes", [1, 4])
def test_all_elements_are_counted(elements, lanes):
    elements *= lanes
    crowd = Crowd(LANE, 128, 1, lanes, elements)
    each = [evaluate(crowd.count(LANE, 1, f32), {LANE: lane}) for lane in range(128)]
    chunks = elements // lanes
    assert each == [lanes * len(range(lane, chunks, 128)) for lane in range(128)]
    warps = [evaluate(crowd.count(constant(first, i32), 32, f32), {}) for first in (0, 32, 64, 96)]
    assert warps == [sum(each[first : first + 32]) for first in (0, 32, 64, 96)]
