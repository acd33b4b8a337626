from contextlib import nullcontext

import pytest

from hidet.runtime.devices import cuda_memory
from hidet.runtime.devices.cuda_memory import LARGE, SMALL, CudaAllocator, rounded
from hidet.runtime.devices.stream import current


@pytest.fixture
def driver(monkeypatch):
    """Memory without a GPU: addresses that are never used."""
    asked = []

    def from_driver(nbytes):
        asked.append(nbytes)
        return 4096 * len(asked)

    monkeypatch.setattr(cuda_memory, "from_driver", from_driver)
    monkeypatch.setattr(cuda_memory, "on", nullcontext)
    cuda_memory._free.clear()
    yield asked
    cuda_memory._free.clear()
    cuda_memory._captured.clear()


def test_sizes_are_rounded_by_little():
    for nbytes in (0, 1, SMALL, SMALL + 1, LARGE, LARGE + 1, 3 * LARGE + 5, 10**9):
        assert max(nbytes, 1) <= rounded(nbytes) <= max(nbytes * 9 / 8, nbytes + SMALL)
        assert rounded(nbytes) % SMALL == 0
        assert rounded(rounded(nbytes)) == rounded(nbytes)


def test_freed_memory_is_used_again(driver):
    first = CudaAllocator().output(0, (100,), "float32", "cuda:0")
    address = first.pointer
    del first
    assert CudaAllocator().empty(390, "cuda:0").pointer == address
    assert driver == [512]


def test_live_memory_is_not(driver):
    first, second = (CudaAllocator().empty(100, "cuda:0") for _ in range(2))
    assert first.pointer != second.pointer


def test_another_stream_device_or_size_gets_other_memory(driver, monkeypatch):
    kept = [CudaAllocator().empty(100, "cuda:0").pointer]
    kept.append(CudaAllocator().empty(100, "cuda:1").pointer)
    kept.append(CudaAllocator().empty(10000, "cuda:0").pointer)
    monkeypatch.setattr(current, "handle", 7)
    kept.append(CudaAllocator().empty(100, "cuda:0").pointer)
    assert len(set(kept)) == 4


def test_captured_memory_is_never_given_to_others(driver, monkeypatch):
    monkeypatch.setattr(current, "capturing", True)
    address = CudaAllocator().empty(100, "cuda:0").pointer
    monkeypatch.setattr(current, "capturing", False)
    assert CudaAllocator().empty(100, "cuda:0").pointer != address


@pytest.mark.gpu
def test_the_driver_gives_and_takes():
    view = CudaAllocator().empty(1 << 20, "cuda:0")
    assert view.pointer % 256 == 0
    del view
    assert cuda_memory.release_kept("cuda:0") >= 1 << 20
