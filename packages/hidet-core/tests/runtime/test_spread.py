"""Blocks that lie evenly on the multiprocessors, whatever still runs on some."""

from dataclasses import replace

import pytest

from hidet.runtime.plans.occupancy import OccupancyLimit
from hidet.runtime.plans.spread import spread

from .conftest import launch

ROOM = OccupancyLimit(cores=132, shared_bytes=233472, most=8, fixed=1024)


def held(step):
    """The blocks of a launch that a multiprocessor holds."""
    by_memory = step.room.shared_bytes // (step.shared_bytes + step.room.fixed)
    return min(by_memory, step.room.most)


def placed(blocks, room=ROOM, shared_bytes=0):
    """A launch of so many blocks, spread."""
    return spread(launch("f", [0], [1], grid=(blocks, 1, 1), shared_bytes=shared_bytes, room=room))


@pytest.mark.parametrize("fixed", [1024, 1030, 6656, 25000])
@pytest.mark.parametrize("blocks", [1, 2, 7, 129, 132, 133, 264, 523, 924, 925, 5000])
def test_a_multiprocessor_holds_no_more_than_its_share(blocks, fixed):
    room = replace(ROOM, fixed=fixed)
    share = -(-blocks // 132)
    assert held(placed(blocks, room)) == min(share, held(launch("f", [], [], room=room)))


def test_where_clusters_leave_some_out_the_others_hold_more():
    assert held(placed(128, replace(ROOM, cores=120))) == 2


def test_as_many_as_are_no_loss_may_lie_on_one():
    assert held(placed(128, replace(ROOM, few=2))) == 2
    assert held(placed(300, replace(ROOM, few=2))) == 3


def test_blocks_that_need_more_take_it():
    assert placed(128, shared_bytes=200_000).shared_bytes == 200_000


def test_as_many_as_there_are_places_for_lie_evenly_anyway():
    assert placed(5000).shared_bytes == 0


def test_nothing_is_done_where_nothing_is_known():
    assert placed(1, None).shared_bytes == 0
