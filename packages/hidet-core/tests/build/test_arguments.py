"""What tensors of other libraries tell of themselves."""

import numpy as np
import pytest

import hidet
from hidet.build.arguments import described, glance, host_array
from hidet.errors import BadArgument
from hidet.graph.tensor import symbol
from hidet.runtime.binding.memory import View


class CudaArray:
    def __init__(self, shape=(2, 3), strides=None, stream=None, read_only=False):
        self.__cuda_array_interface__ = {
            "data": (4096, read_only), "shape": shape, "typestr": "<f4", "strides": strides,
            "stream": stream, "version": 3,
        }  # fmt: skip


def test_a_cuda_array_tells_memory_and_stream():
    seen = glance(CudaArray(stream=77))
    assert (seen[0], seen[2]) == (4096, 77)
    assert described(seen[1]) == ("float32", (2, 3), "cuda:0", False, True)


@pytest.mark.parametrize(("given", "meant"), [(None, None), (1, 0), (2, 2), (9000, 9000)])
def test_stream_one_is_the_default_stream(given, meant):
    assert glance(CudaArray(stream=given))[2] == meant


@pytest.mark.parametrize(
    ("shape", "strides", "gaps"),
    [
        ((2, 3), (12, 4), False), ((2, 3), (4, 8), True), ((1, 3), (400, 4), False),
        ((2, 3), (24, 8), True), ((0, 3), (1, 1), False), ((), (), False),
    ],
)  # fmt: skip
def test_gaps_are_seen(shape, strides, gaps):
    assert described(glance(CudaArray(shape, strides))[1]).gaps is gaps


def test_read_only_memory_is_seen():
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    for each in (array, CudaArray(read_only=True)):
        assert not described(glance(each)[1]).writable


def test_our_own_memory():
    view = View(8192, (5,), "float16", "cuda:1")
    assert described(glance(view)[1]) == ("float16", (5,), "cuda:1", False, True)
    tensor = hidet.randn((4, 2))
    assert glance(tensor)[0] == tensor.numpy().ctypes.data
    with pytest.raises(BadArgument, match="no values"):
        glance(symbol((2,)))


@pytest.mark.parametrize("value", [1, 2.5, "text", None, [1.0, 2.0]])
def test_what_has_no_memory_is_none(value):
    assert glance(value) is None


def test_element_types_that_we_do_not_have_are_spelled_all_the_same():
    assert described(glance(np.zeros(2, np.complex64))[1]).dtype == "complex64"


def test_memory_as_an_array_is_shared():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    same = host_array(array.ctypes.data, "float32", (2, 3))
    same[1, 2] = 50
    assert array[1, 2] == 50
    assert not host_array(array.ctypes.data, "float32", (2, 3), writable=False).flags.writeable
    assert host_array(0, "float32", (0, 3)).shape == (0, 3)
