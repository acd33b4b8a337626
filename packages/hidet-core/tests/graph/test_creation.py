"""Tensors with values: made, moved, shared with other libraries, shown."""

import gc
from typing import Any

import numpy as np
import pytest

import hidet
from hidet.errors import BadArgument
from hidet.runtime.devices import dlpack


class Exporter:
    """Another library's array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_values_at_random_come_from_seeds():
    first, second = (hidet.randn([3, 4], seed=1).numpy() for _ in range(2))
    assert (first == second).all()
    hidet.manual_seed(5)
    third = hidet.randn((100,), mean=10.0, stddev=0.1).numpy()
    hidet.manual_seed(5)
    assert (third == hidet.randn((100,), mean=10.0, stddev=0.1).numpy()).all()
    assert abs(third.mean() - 10) < 0.1
    drawn = hidet.randint(2, 5, (200,), seed=0).numpy()
    assert set(drawn.tolist()) == {2, 3, 4}
    assert drawn.dtype == np.int64
    spread = hidet.rand((200,), "float16", seed=0).numpy()
    assert 0 <= spread.min() < spread.max() <= 1


def test_empty_ones_have_type_and_shape():
    x = hidet.empty([2, 3], "bfloat16")
    assert (x.shape, x.dtype.name, x.device) == ((2, 3), "bfloat16", "cpu")
    like = hidet.empty_like(x)
    assert (like.shape, like.dtype.name) == ((2, 3), "bfloat16")
    assert hidet.randn_like(hidet.zeros([4])).shape == (4,)


@pytest.mark.parametrize("shape", [(-1,), (2.5,), ("n",), (1 << 40, 1 << 40)])
def test_shapes_that_no_tensor_has(shape):
    with pytest.raises(BadArgument):
        hidet.empty(shape)


def test_memory_is_shared_with_numpy_both_ways():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = hidet.from_dlpack(Exporter(array))
    array[0, 0] = 7
    assert x.numpy()[0, 0] == 7
    back = np.from_dlpack(x)
    assert back.ctypes.data == array.ctypes.data
    assert np.asarray(x).ctypes.data == array.ctypes.data
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert hidet.asarray(x) is x


def test_a_number_of_numpy_is_a_tensor_without_axes():
    found = hidet.from_numpy(np.float32(0.5))
    assert (found.shape, found.dtype, found.item()) == ((), hidet.float32, 0.5)


def test_an_exported_tensor_lives_as_long_as_it_is_used():
    x = hidet.zeros([5])
    gc.collect()  # what other tests have left is not counted
    before = len(dlpack._exported)
    capsule = x.__dlpack__()
    assert len(dlpack._exported) == before + 1
    del capsule  # nobody took it
    gc.collect()
    assert len(dlpack._exported) == before
    taken = np.from_dlpack(x)
    del x
    gc.collect()
    assert taken.tolist() == [0] * 5
    del taken
    gc.collect()
    assert len(dlpack._exported) == before


def test_an_export_that_would_need_a_copy_is_refused():
    x = hidet.zeros([5])
    with pytest.raises(BufferError):
        x.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BadArgument, match="gaps"):
        hidet.from_dlpack(Exporter(np.zeros((4, 4), np.float32).T[1:]))
    with pytest.raises(AttributeError):
        _ = x.__cuda_array_interface__


def test_conversions():
    x = hidet.asarray([[1, 2], [3, 4]])
    assert x.to("float32").dtype.name == "float32"
    assert x.to("cpu", "float16").tolist() == [[1, 2], [3, 4]]
    assert x.to("cpu") is x
    assert x.cpu() is x
    assert x.T.tolist() == [[1, 3], [2, 4]]
    assert x.sum().item() == 10
    own = x.copy()
    own.numpy()[0, 0] = 9
    assert x.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(BadArgument, match="no values to copy"):
        hidet.symbol([2]).cuda()


def test_named_sizes():
    x = hidet.symbol(["n", 3, "n"])
    assert x.shape[0] is x.shape[2]
    doubled = hidet.trace_from(x + x, x)
    assert doubled(hidet.ones([2, 3, 2])).numpy().sum() == 24


def test_sharing_with_pytorch():
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    ours = hidet.from_torch(x)
    with torch.no_grad():
        x[0, 0] = 5
    assert ours.numpy()[0, 0] == 5
    assert ours.torch().data_ptr() == x.data_ptr()
    assert hidet.asarray(torch.ones(2, dtype=torch.bfloat16)).dtype.name == "bfloat16"


@pytest.mark.gpu
def test_on_a_gpu():
    x = hidet.randn([2, 3], device="cuda", seed=0)
    assert x.device == "cuda:0"
    assert repr(x).startswith("Tensor(shape=(2, 3), dtype='float32', device='cuda:0')\n[[")
    host = x.cpu().numpy()
    doubled = (x + x).cpu().numpy()
    np.testing.assert_array_equal(doubled, host + host)
    with pytest.raises(BadArgument, match="cpu"):
        x.numpy()
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    shared = x.torch()
    shared.zero_()
    torch.cuda.synchronize()
    assert x.cpu().numpy().max() == 0
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        there = (hidet.ones([1 << 20], device="cuda") * 3).torch()
        assert there.sum().item() == 3 * (1 << 20)
    assert torch.as_tensor(x, device="cuda").data_ptr() == shared.data_ptr()
    assert hidet.from_torch(shared.half()).dtype.name == "float16"
