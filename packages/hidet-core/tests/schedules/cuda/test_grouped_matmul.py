"""Products of groups of rows in the simulator: odd sizes, empty groups, one group with all rows."""

import random

import numpy as np
import pytest

from hidet import sim
from hidet.ops.grouped_matmul import GroupedMatmul
from hidet.schedules.base import SCHEDULES, candidates
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import bf16, f16, f32, i32, i64

TARGET = Target.parse("sm_90a")
OPS = [
    *GroupedMatmul.samples(),
    GroupedMatmul(f16[129, 72], f16[3, 72, 40], i32[3]),
    GroupedMatmul(bf16[37, 64], bf16[8, 33, 64], i64[8], True),
    GroupedMatmul(f32[33, 31], f32[5, 31, 17], i32[5]),
]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_groups_of_any_length(op, check, is_right_simulated):
    found = candidates(op, TARGET)
    few = random.Random(str(op)).sample(found[1:], min(2, len(found) - 1)) if found else []
    for candidate in [*found[:1], *few]:
        module = candidate.schedule.apply(op, TARGET, candidate.point).module
        is_right_simulated(module, op, check)


ENDS = {
    "empty groups": [0, 0, 37, 37, 37],
    "one group has all rows": [0, 70, 70, 70, 70],
    "rows of no group": [1, 2, 9, 9, 40],
    "no row has a group": [0, 0, 0, 0, 0],
    "ends outside of x": [3, 2, 80, 5, 90],
}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("schedule", [s for s in SCHEDULES if GroupedMatmul in s.ops and
                                      s.target == "cuda"], ids=lambda s: s.name)  # fmt: skip
def test_ends(schedule, ends):
    dtype = f32 if schedule.name in ("grouped_simt", "grouped_single") else f16
    op = GroupedMatmul(dtype[70, 40], dtype[5, 40, 24], i32[5])
    point = schedule.candidates(op, TARGET)[0].point
    x, w, _ = op.examples(seed=0)
    out = np.full((70, 24), 77, dtype.numpy)
    module = schedule.apply(op, TARGET, point).module
    sim.launch(as_run(module), x, w, np.array(ends, np.int32), out)
    near = np.maximum.accumulate(np.minimum(ends, 70))
    wanted = op.reference(x.astype(np.float64), w.astype(np.float64), near)
    np.testing.assert_allclose(out, wanted, rtol=2e-2, atol=2e-2)
