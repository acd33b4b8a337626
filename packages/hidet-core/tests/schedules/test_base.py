"""What schedules say of themselves, beside how they compute."""

import pytest

from hidet.build.choosing.choices import choices
from hidet.ops.products.matmul import Linear
from hidet.ops.windows.conv import Conv
from hidet.schedules import load
from hidet.schedules.base import gains_by_channels_last
from hidet.target import Target
from hidet.types import f16, f32

assert load.LOADED
ONE = (1, 1)


def convolution(dtype, groups=1):
    weight = dtype[8, 8 // groups, 3, 3]
    return Conv(dtype[1, 8, 9, 9], weight, None, ONE, ((1, 1), (1, 1)), ONE, groups)


@pytest.mark.parametrize(
    ("op", "target", "gains"),
    [
        (convolution(f16), "sm_90a", True),
        (convolution(f16, groups=2), "sm_80", True),
        (convolution(f16, groups=8), "sm_80", False),
        (convolution(f32), "sm_90a", True),
        (convolution(f32), "sm_120", False),
        (convolution(f16), "cpu+avx512", True),
        (convolution(f16, groups=2), "cpu+avx512", False),
    ],
    ids=str,
)
def test_matrix_multiplications_ask_for_channels_last(op, target, gains):
    assert gains_by_channels_last(op, Target.parse(target)) is gains


def test_large_products_by_mma_sync_take_large_tiles():
    # Small ones read operands so often that the second-level cache is what they wait for: on an
    # H200 a block of 32 x 64 takes 1,078 us, one of 128 x 128 401.
    best = choices(Linear(f16[4096, 4096], f16[4096, 4096], None), Target.parse("sm_80"))[0].point
    assert min(best.block) >= 128
