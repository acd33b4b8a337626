"""Which reductions finish with one synchronisation, and who has how many elements."""

import pytest

from hidet.compute import Input
from hidet.compute.functions import exp
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Var, constant
from hidet.schedules.automatic.cuda.cross_warp_reduction import Participants, cross_warp_reductions
from hidet.schedules.automatic.emit import Accumulator, row_level
from hidet.schedules.automatic.plan import plan
from hidet.types import f32, i32

LANE = Var("lane", i32)


def groups(function):
    """The numbers of the reductions of a function, group by group."""
    x = Input("x", f32[4, 32])
    (stage,) = plan([x], [function(x)]).stages
    accumulators = [Accumulator(each, str(n)) for n, each in enumerate(row_level(stage))]
    participants = Participants(LANE, 32, 1, 1, 32)
    return [list(each.parts) for each in cross_warp_reductions(accumulators, participants)]


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
def test_sums_about_a_centre_need_no_synchronisation_of_their_own(function, expected):
    assert groups(function) == expected


@pytest.mark.parametrize("elements", [1, 7, 129, 256, 4096, 4099])
@pytest.mark.parametrize("lanes", [1, 4])
def test_all_elements_are_counted(elements, lanes):
    elements *= lanes
    participants = Participants(LANE, 128, 1, lanes, elements)
    each = [evaluate(participants.count(LANE, 1, f32), {LANE: lane}) for lane in range(128)]
    chunks = elements // lanes
    assert each == [lanes * len(range(lane, chunks, 128)) for lane in range(128)]
    warps = [
        evaluate(participants.count(constant(first, i32), 32, f32), {}) for first in (0, 32, 64, 96)
    ]
    assert warps == [sum(each[first : first + 32]) for first in (0, 32, 64, 96)]
