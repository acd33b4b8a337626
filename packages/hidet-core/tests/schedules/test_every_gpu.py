"""Every schedule for CUDA on each kind of GPU that has its instructions: compiled by NVRTC without
spills, within the shared memory that a block may have there, and right in the simulator.

Schedules and GPUs are paired in turns, so that each run has each of both; `test_odd_sizes` has the
sizes. What a schedule needs more than a GPU has, it must not offer there.
"""

from itertools import cycle
from math import prod

import pytest

from hidet.codegen import cuda
from hidet.ir.evaluate import evaluate
from hidet.passes.pipeline import lower
from hidet.target import Target
from hidet.testing.asked import asked
from hidet.toolchain.nvrtc import compile_cuda

from .test_odd_sizes import ANCHORS, CUDA, simulated

GPUS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
HOPPER = "sm_90a"
"""What has `wgmma`: schedules by warpgroups are for it alone."""


def taken(schedule, target):
    """An operator that a schedule takes there, and its cheapest point."""
    for op in ANCHORS:
        for candidate in schedule.candidates(op, target):
            return op, candidate.point
    return None


def pairs():
    """Each schedule with the next GPU that it has an operator for."""
    turns = cycle(GPUS)
    for schedule in CUDA:
        with asked(schedule):
            names = [next(turns) for _ in GPUS] + [HOPPER]
            arch = next(each for each in names if taken(schedule, Target.parse(each)))
        next(turns)
        yield pytest.param(schedule, arch, id=f"{schedule.name}-{arch}")


@pytest.mark.parametrize(("schedule", "arch"), list(pairs()))
def test_a_schedule_compiles_and_is_right(schedule, arch):
    target, short = Target.parse(arch), schedule.name.endswith("tf32")
    with asked(schedule):
        op, point = taken(schedule, target)
        module = schedule.apply(op, target, point).module
    kernels = [lower(each) for each in module.kernels]
    usage = compile_cuda(cuda.emit(kernels), arch=arch).usage
    assert set(usage) == {each.name for each in kernels}
    for each in kernels:
        assert usage[each.name].spill_bytes == 0
        threads = prod(evaluate(size, {}) for size in each.launch.block)
        shared = each.launch.shared_bytes + usage[each.name].shared_bytes
        assert target.resident_blocks(threads, shared, usage[each.name].registers) >= 1
    simulated(op, module, short, target)
    if arch == HOPPER:
        assert not any(taken(schedule, Target.parse(each)) for each in GPUS)
