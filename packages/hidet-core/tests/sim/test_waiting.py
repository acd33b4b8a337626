"""A deadlock says who waits, where, and in which statement."""

import pytest
from catalogue import CASES

from hidet import sim

CROSSED = next(case for case in CASES if case.name == "each_waits_for_the_other_first")


def test_all_waits_are_named():
    with pytest.raises(sim.Deadlock) as caught:
        sim.launch(CROSSED.build(False).ir_module(), *CROSSED.arrays())
    message = caught.value.message
    for thread, warp, number in ((0, 0, 1), (32, 1, 2)):
        who = f"block (0, 0, 0), thread ({thread}, 0, 0), warp {warp}, lane 0 and 31 more"
        assert f"{who} in `barrier_sync() ({number}, 64)` at {CROSSED.file}:" in message
    assert caught.value.place.line == CROSSED.line
