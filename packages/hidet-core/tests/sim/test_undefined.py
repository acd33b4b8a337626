"""Fresh outputs, inputs that may not be written."""

import numpy as np
import pytest

from hidet.lang import attr, f16, f32, i32, script
from hidet.lang.cuda import threadIdx
from hidet.sim import Uninitialised, WriteToInput, empty, launch


@script
def half(x: f32[40], y: f32[40]):
    attr.cuda_block_dim = 20
    y[threadIdx.x] = x[threadIdx.x] + 1


@script
def whole(x: f32[40], y: f32[40]):
    attr.cuda_block_dim = 40
    y[threadIdx.x] = x[threadIdx.x] * 2


def ones():
    return np.ones(40, np.float32)


def test_an_output_is_undefined_until_it_is_written():
    y, z = empty(40, "float32"), np.zeros(40, np.float32)
    assert np.isnan(y).all()
    with pytest.raises(Uninitialised, match=r"global x\[0\] is read before it is written"):
        launch(whole, y, z)
    launch(half, ones(), y)
    assert y[:20].tolist() == [2] * 20
    with pytest.raises(Uninitialised, match=r"global x\[20\] is read before it is written"):
        launch(whole, y, z)
    launch(whole, ones(), y)
    launch(whole, y, z)
    assert z.tolist() == [4] * 40


def test_what_was_written_is_known_at_other_widths():
    @script
    def bytes_of(y: f16[7]):
        attr.cuda_block_dim = 4
        y[threadIdx.x] = 1

    @script
    def reads(y: f16[7], n: i32, z: f16[7]):
        attr.cuda_block_dim = 7
        if threadIdx.x < n:
            z[threadIdx.x] = y[threadIdx.x]

    y = empty((7,), f16)
    launch(bytes_of, y)
    launch(reads, y, 4, np.zeros(7, np.float16))
    with pytest.raises(Uninitialised):
        launch(reads, y, 5, np.zeros(7, np.float16))


def test_parts_and_copies_are_ordinary_arrays():
    y = empty((2, 40), "float32")
    launch(whole, y[0], np.zeros(40, np.float32))
    launch(whole, y[0].copy(), np.zeros(40, np.float32))


def test_a_kernel_writes_an_input():
    x = ones()
    x.flags.writeable = False
    launch(whole, x, np.zeros(40, np.float32))
    with pytest.raises(WriteToInput, match="global y is written, and was given to be read only"):
        launch(whole, ones(), x)
    assert (x == 1).all()
