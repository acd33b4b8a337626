import ctypes

import pytest

from benchmarks.conditional import QUESTIONS
from benchmarks.measure.conditional import OPEN, SOURCE, Kernel
from benchmarks.measure.iterations import check
from hidet.runtime.devices.driver import cu
from hidet.toolchain import compile_cuda


@pytest.mark.parametrize("source", [SOURCE, SOURCE + OPEN])
def test_the_kernels_compile_with_the_drivers_function_left_open(source):
    made = compile_cuda(source, arch="sm_90")
    assert {"add", "step", "parity"} <= set(made.usage)


def test_arguments_lie_where_the_driver_reads_them():
    kernel = Kernel(cu.CUfunction(0), 5, 2**40)
    assert [ctypes.c_uint64.from_address(each).value for each in kernel.slots] == [5, 2**40]


def test_what_is_wrong_says_so():
    assert check([1], [1]) == "right"
    assert "WRONG" in check([1], [2])


def test_each_question_can_be_asked_by_its_name():
    names = [each.__name__ for each in QUESTIONS]
    assert len(set(names)) == len(names)
    assert all(each.__doc__ for each in QUESTIONS)
