import ctypes
from dataclasses import replace

import numpy as np
import pytest

from hidet.errors import BadArgument
from hidet.runtime.devices import dlpack
from hidet.runtime.devices.dlpack import capsule_of, has_gaps, view_of_dlpack


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint16", "int64", "bool"]
)
def test_memory_of_every_type_is_read(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    view, gaps, _ = view_of_dlpack(array)
    assert (view.pointer, view.shape, view.dtype, view.device) == (
        array.ctypes.data, (2, 3), dtype, "cpu",
    )  # fmt: skip
    assert not gaps


def test_gaps_and_offsets_are_seen():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    view, gaps, _ = view_of_dlpack(array[1:, ::2])
    assert gaps
    assert view.pointer == array.ctypes.data + 24
    assert view_of_dlpack(array[2:])[1] is False


def test_strides_in_bytes_and_in_elements():
    assert not has_gaps((2, 3), (3, 1))
    assert not has_gaps((2, 3), (12, 4), 4)
    assert has_gaps((2, 3), (1, 2))


def test_the_memory_lives_as_long_as_the_view():
    view, _, _ = view_of_dlpack(np.full(1000, 7, np.int32))
    assert view.owner is not None


def test_a_capsule_that_nobody_takes_lets_the_memory_go():
    view, _, _ = view_of_dlpack(np.zeros(7, np.float32))
    before = len(dlpack._exported)
    capsule = capsule_of(view)
    assert len(dlpack._exported) == before + 1
    del capsule
    assert len(dlpack._exported) == before


class Exporter:
    """An array that exports another one's memory under a code and a width of its own."""

    def __init__(self, array, code, bits):
        self.array, self.code, self.bits = array, code, bits

    def __dlpack_device__(self):
        return (dlpack.CPU, 0)

    def __dlpack__(self):
        capsule = capsule_of(view_of_dlpack(self.array)[0])
        address = dlpack._pointer(capsule, dlpack.NAME)
        tensor = ctypes.cast(address, ctypes.POINTER(dlpack.DLTensor)).contents
        tensor.code, tensor.bits = self.code, self.bits
        return capsule


@pytest.mark.parametrize("code", dlpack.FLOAT8)
def test_kinds_of_float8_go_there_and_back(code):
    array = np.arange(6, dtype=np.uint8)
    view, _, _ = view_of_dlpack(Exporter(array, code, 8))
    assert view.dtype == dlpack.FLOAT8[code]
    capsule = capsule_of(view)
    address = dlpack._pointer(capsule, dlpack.NAME)
    tensor = ctypes.cast(address, ctypes.POINTER(dlpack.DLTensor)).contents
    assert (tensor.code, tensor.bits, tensor.lanes) == (code, 8, 1)


def test_several_elements_in_a_byte_are_refused():
    array = np.arange(6, dtype=np.uint8)
    for code, bits in ((0, 4), (1, 2), (17, 4)):
        with pytest.raises(BadArgument, match=f"code {code}, {bits} bits"):
            view_of_dlpack(Exporter(array, code, bits))
    view, _, _ = view_of_dlpack(array)
    with pytest.raises(BufferError, match="several elements of int4 in a byte"):
        capsule_of(replace(view, dtype="int4"))
