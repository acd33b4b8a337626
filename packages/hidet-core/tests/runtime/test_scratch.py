from hidet.runtime.memory import HostAllocator
from hidet.runtime.scratch import Scratch


class Counting(HostAllocator):
    def __init__(self):
        self.sizes = []

    def empty(self, nbytes, device):
        self.sizes.append(nbytes)
        return super().empty(nbytes, device)


def test_memory_grows_and_never_shrinks():
    allocator = Counting()
    scratch = Scratch(allocator, "cpu")
    first = scratch.reserve(100)
    assert scratch.reserve(50) == scratch.reserve(100) == first
    larger = scratch.reserve(5000)
    assert scratch.reserve(100) == larger
    assert allocator.sizes == [100, 5000]


def test_nothing_is_enough_for_nothing():
    allocator = Counting()
    Scratch(allocator, "cpu").reserve(0)
    assert allocator.sizes == [0]
