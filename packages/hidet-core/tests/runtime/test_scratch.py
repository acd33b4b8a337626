import gc

from hidet.runtime.binding.memory import HostAllocator
from hidet.runtime.binding.scratch import Scratch, shared_scratch


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


def test_memory_that_was_let_go_is_taken_anew():
    allocator = Counting()
    scratch = Scratch(allocator, "cpu")
    scratch.reserve(100)
    scratch.release()
    assert (scratch.memory, scratch.nbytes) == (None, 0)
    generation = scratch.generation
    scratch.reserve(50)
    assert scratch.generation != generation
    assert allocator.sizes == [100, 50]


def test_equal_allocators_share_memory_on_a_stream_as_long_as_somebody_has_it():
    first = shared_scratch(HostAllocator(), "cpu", 0)
    assert shared_scratch(HostAllocator(), "cpu", 0) is first
    assert shared_scratch(HostAllocator(), "cpu", 7) is not first
    assert shared_scratch(Counting(), "cpu", 0) is not first
    first.reserve(100)
    del first
    gc.collect()
    assert shared_scratch(HostAllocator(), "cpu", 0).memory is None
