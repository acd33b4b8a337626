import numpy as np
import pytest

from hidet.runtime import dlpack
from hidet.runtime.dlpack import capsule_of, has_gaps, view_of_dlpack


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
