import numpy as np
import pytest
import torch

from hidet.frontend.running.execute import View
from hidet_torch.memory.tensors import TorchAllocator, device_of, storage_of, tensor_of, view_of


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int64])
def test_memory_is_shared_both_ways(dtype: torch.dtype) -> None:
    x = torch.zeros(2, 3, dtype=dtype)
    view = view_of(x)
    back = tensor_of(View(view.pointer, view.shape, view.dtype, view.device))
    assert back.dtype is dtype
    back.fill_(1)
    assert bool((x == 1).all())
    array = storage_of(x)
    assert array.shape == (2, 3)
    assert array.__array_interface__["data"][0] == x.data_ptr()
    assert np.all(array.astype(np.float32) == 1)


def test_complex_numbers_are_pairs() -> None:
    view = view_of(torch.zeros(4, dtype=torch.complex64))
    assert (view.shape, view.dtype) == ((4, 2), "float32")


def test_outputs_are_tensors() -> None:
    view = TorchAllocator().output(0, (2, 0), "bfloat16", "cpu")
    assert view.owner.shape == (2, 0)
    assert view.owner.dtype is torch.bfloat16
    assert device_of(torch.device("cuda")) == "cuda:0"
