import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

from hidet.errors import BadArgument
from hidet.runtime import View
from hidet.runtime.binding.memory import (
    ALIGNMENT,
    HostAllocator,
    aligned,
    array_of,
    to_device,
    view_of,
)
from hidet.types import u16


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.bool_, np.int64])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4)])
def test_arrays_survive(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    view = view_of(array)
    assert view.shape == shape
    assert view.nbytes == array.nbytes
    assert array_of(view).tobytes() == array.tobytes()


def test_an_array_with_gaps_is_refused():
    with pytest.raises(BadArgument, match="no gaps"):
        view_of(np.zeros((4, 4))[:, 1])


def test_memory_of_the_host_is_aligned():
    for nbytes in (1, 64, 1000):
        assert HostAllocator().empty(nbytes, "cpu").pointer % ALIGNMENT == 0
        made = aligned((nbytes,), u16)
        assert made.pointer == made.owner.ctypes.data
        assert made.pointer % ALIGNMENT == 0


def test_outputs_have_the_asked_for_type():
    view = HostAllocator().output(0, (2, 3), "bfloat16", "cpu")
    assert view.owner.dtype == ml_dtypes.bfloat16
    assert (view.shape, view.dtype, view.device) == ((2, 3), "bfloat16", "cpu")


class Owner:
    """Memory that belongs to some framework."""

    def __init__(self):
        self.memory = np.arange(6, dtype=np.float32)


def test_memory_of_others_is_seen_without_a_copy_and_kept():
    owner = Owner()
    array = array_of(View(owner.memory.ctypes.data, (2, 3), "float32", "cpu", owner))
    owner.memory[0] = 42
    assert array[0, 0] == 42
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is not None
    assert array[1, 2] == 5


def test_values_go_to_the_cpu_as_they_are():
    array = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(array_of(to_device(array.T, "cpu")), array.T)
