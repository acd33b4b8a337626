"""Reductions in two kernels: which are, and that they come to the same."""

import pytest

from hidet import ops
from hidet.types import f16, f32


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((70001, 3), (0,)),
        ((33000,), (0,)),
        ((4, 33001), (1,)),
        ((1201, 7, 40), (0, 1)),
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
        ((65536, 1024), (0,)),
        ((512, 1024), (0,)),
        ((4096, 4096), (1,)),
        ((0, 4), (0,)),
    ],
    ids=str,
)
def test_where_one_kernel_is_enough(made, shape, axes):
    assert len(made(lambda x: ops.sum(x, axes), f16[shape]).module.kernels) == 1


def test_what_needs_every_element_again_stays_whole(made):
    assert len(made(lambda x: ops.softmax(x, -1), f32[2, 40000]).module.kernels) == 1


@pytest.mark.parametrize("shape", [(65536, 64), (262144, 256)], ids=str)
def test_enough_threads_for_every_multiprocessor(made, shape):
    split = made(lambda x: ops.sum(x, (0,)), f16[shape])
    first, second = (kernel.launch for kernel in split.module.kernels)
    threads = [int(e.grid[0].value) * int(e.block[0].value) for e in (first, second)]
    assert 132 * 2 / 3 * 512 < threads[0] <= 132 * 1024
    assert threads[1] < threads[0]
    split.build()


@pytest.mark.parametrize("reduce", [ops.any, ops.all], ids=["any", "all"])
def test_what_is_true_is_split_too(made, reduce):
    """Models that guard float16 against infinities ask it of whole activations, layer by layer."""
    split = made(lambda x: reduce(x > 2.5, None), f32[129, 769])
    assert len(split.module.kernels) == 2
    split.check()
    split.check(low=2.6, high=3)
