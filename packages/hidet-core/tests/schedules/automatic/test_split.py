"""Reductions in two kernels: which are, and that they come to the same."""

from itertools import pairwise

import pytest

from hidet import ops
from hidet.types import f16, f32


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((20011, 3), (0,)),
        ((33000,), (0,)),
        ((4, 33001), (1,)),
        ((130, 7, 40), (0, 1)),
        ((2049, 33), (0, 1)),
    ],
    ids=str,
)
def test_what_the_parts_come_to(made, shape, axes):
    split = made(lambda x: ops.mean(x, axes), f32[shape])
    assert len(split.module.kernels) == 2
    assert len(split.module.workspaces) == 1
    split.check()


def test_the_largest_of_negative_numbers_is_not_the_padding(made):
    split = made(lambda x: ops.max(x, (0,)), f32[40001])
    assert len(split.module.kernels) == 2
    split.check(low=-3, high=-1)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((64, 64), (0,)),
        ((1024, 65536), (0,)),
        ((4096, 4096), (1,)),
        ((0, 4), (0,)),
    ],
    ids=str,
)
def test_where_one_kernel_is_enough(made, shape, axes):
    assert len(made(lambda x: ops.sum(x, axes), f16[shape]).module.kernels) == 1


def test_what_needs_every_element_again_stays_whole(made):
    assert len(made(lambda x: ops.softmax(x, -1), f32[2, 40000]).module.kernels) == 1


@pytest.mark.parametrize("shape", [(65536, 1024), (16384, 4096)], ids=str)
def test_enough_blocks_for_every_multiprocessor(made, shape):
    split = made(lambda x: ops.sum(x, (0,)), f16[shape])
    blocks = [int(kernel.launch.grid[0].value) for kernel in split.module.kernels]
    assert 132 * 3 < blocks[0] <= 132 * 4
    assert all(a > b for a, b in pairwise(blocks))
    split.build()
