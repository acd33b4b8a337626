"""What NVRTC makes of untuned choices: 16-byte accesses, no spills, registers as estimated."""

import re

import pytest

from hidet.codegen import cuda
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.passes.pipeline import lower
from hidet.schedules import load
from hidet.schedules.base import candidates
from hidet.schedules.cuda.tiles.pipeline import Stages
from hidet.schedules.forms import contraction_of
from hidet.target import Target
from hidet.toolchain.nvrtc import compile_cuda
from hidet.types import f16, f32

SAME = ((1, 1), (1, 1))
TYPICAL = [
    Linear(f16[128, 768], f16[768, 768], f16[768]),
    Linear(f16[1, 768], f16[2304, 768], f16[2304]),
    Matmul(f16[12, 128, 128], f16[12, 128, 64]),
    Matmul(f16[4096, 4096], f16[4096, 4096]),
    Matmul(f32[1024, 1024], f32[1024, 1024]),
    Conv(f16[1, 128, 28, 28], f16[128, 128, 3, 3], f16[128], (1, 1), SAME, (1, 1), 1),
    Conv(f16[1, 64, 56, 56], f16[256, 64, 1, 1], None, (1, 1), ((0, 0),) * 2, (1, 1), 1),
]


GPUS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
FULL = [
    Attention(*(f16[1, 32, 1024, 128],) * 3, None, True, 0.09),
    Attention(*(f16[1, 8, 4096, 40],) * 3, None, False, 0.16),
    Attention(*(f32[1, 16, 1024, 64],) * 3, None, True, 0.125),
    Attention(*(f32[8, 12, 197, 64],) * 3, None, False, 0.125),
    Matmul(f32[1024, 1024], f32[1024, 1024]),
]
"""Those whose threads hold most: on every GPU. Others are on some of them."""
SOME = [
    *((op, arch) for op in TYPICAL for arch in ("sm_80", "sm_90a")),
    *((op, GPUS[number % len(GPUS)]) for number, op in enumerate(TYPICAL, 1)),
    *((op, arch) for op in FULL for arch in GPUS if (op, arch) != (TYPICAL[4], "sm_80")),
]


@pytest.mark.parametrize(("op", "arch"), SOME, ids=str)
def test_untuned_choices_compile_without_spills(op, arch):
    target = Target.parse(arch)
    best = candidates(op, target)[0]
    module = best.schedule.apply(op, target, best.point).module
    text = cuda.emit([lower(kernel) for kernel in module.kernels])
    built = compile_cuda(text, arch=arch)
    assert {kernel.name for kernel in module.kernels} == set(built.usage)
    for name, usage in built.usage.items():
        assert usage.spill_bytes == 0, f"{name} at {best.point} spills {usage.spill_bytes} bytes"
    assert load.LOADED


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("op", [Linear(f16[1024, 1024], f16[1024, 1024], None)], ids=str)
def test_the_fullest_points_of_a_pipeline_of_copies_do_not_spill(op, arch):
    target, p = Target.parse(arch), contraction_of(op)
    found = [each for each in candidates(op, target) if isinstance(each.point, Stages)]
    for each in sorted(found, key=lambda each: -each.point.registers(p))[:3]:
        module = each.schedule.apply(op, target, each.point).module
        built = compile_cuda(cuda.emit([lower(kernel) for kernel in module.kernels]), arch=arch)
        assert not any(usage.spill_bytes for usage in built.usage.values()), each.point


@pytest.mark.parametrize("op", [op for op in TYPICAL if op.types()[0].dtype is f16][:4], ids=str)
def test_operands_are_read_sixteen_bytes_at_a_time(op):
    target = Target.parse("sm_90a")
    best = next(c for c in candidates(op, target) if c.schedule.name == "matmul_mma")
    module = best.schedule.apply(op, target, best.point).module
    text = cuda.emit([lower(module.kernels[0])])
    for operand in "ab":
        assert re.search(rf"load(_or_zero)?<f16, 8>\(&{operand}\[", text)
