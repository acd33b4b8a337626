"""The executor on a GPU: graphs, moved pointers, branches, streams, foreign capture."""

import gc
import threading
import weakref
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hidet.errors import BadArchive, BadArgument, CudaError
from hidet.runtime import Archive, Executor, Plan
from hidet.runtime.binding.bound import SHORT
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.devices.device import make_current
from hidet.runtime.devices.driver import call, cu
from hidet.runtime.devices.stream import Stream, current, is_capturing
from hidet.runtime.graphs import kernel_node, segment
from hidet.runtime.graphs.segment import Segment
from hidet.runtime.programs.cuda_program import STREAMS_KEPT

from .conftest import ARCH, buffer, diamond, hosted, launch, weighted

pytestmark = pytest.mark.gpu
WIDE = {"grid": (["//", ["+", "n", 127], 128], 1, 1), "block": (128, 1, 1)}


@pytest.fixture
def diamonds(cubin):
    return Archive({"main": diamond(ARCH, **WIDE)}, {"unit": cubin})


def numbers(count, start=0):
    return np.arange(start, start + count, dtype=np.float32)


def gpu(array):
    return to_device(array, "cuda:0")


@pytest.mark.parametrize("use_graph", [True, False])
def test_a_plan_computes(diamonds, use_graph):
    executor = Executor(diamonds, "cuda", use_graph=use_graph)
    for count in (1000, 3, 100_000, 1000, 0):
        (y,) = executor([gpu(numbers(count))])
        assert y.device == "cuda:0"
        assert np.array_equal(array_of(y), 4 * numbers(count) + 8)


def test_pointers_that_moved_are_patched_and_outputs_stay(diamonds):
    executor = Executor(diamonds, "cuda:0")
    given = [gpu(numbers(500, start)) for start in range(6)]
    kept = [executor([each])[0] for each in given]
    assert len({each.pointer for each in kept}) == 6
    for start, y in enumerate(kept):
        assert np.array_equal(array_of(y), 4 * numbers(500, start) + 8)


def test_a_graph_is_built_once_for_each_shape(diamonds, monkeypatch):
    built = []
    build = Segment.build
    monkeypatch.setattr(
        Segment, "build", lambda self, pointers: (built.append(1), build(self, pointers))
    )
    executor = Executor(diamonds, "cuda:0")
    for count in (100, 100, 200, 100, 200):
        executor([gpu(numbers(count))])
    assert len(built) == 2


def test_an_arena_that_grew_is_patched_in(diamonds):
    executor = Executor(diamonds, "cuda:0")
    for count in (10, 1_000_000, 10, 1_000_000):
        (y,) = executor([gpu(numbers(count))])
        assert np.array_equal(array_of(y), 4 * numbers(count) + 8)


def scratch_of(executor, stream=0):
    (program,) = executor.programs.values()
    return program.on(stream).scratch


def test_graphs_share_the_arena_of_a_stream(diamonds, cubin):
    first, second = Executor(diamonds, "cuda:0"), Executor(diamonds, "cuda:0")
    for count in (10, 100_000, 10):
        (y,) = first([gpu(numbers(count))])
        (z,) = second([gpu(numbers(10, 5))])
        assert np.array_equal(array_of(y), 4 * numbers(count) + 8)
        assert np.array_equal(array_of(z), 4 * numbers(10, 5) + 8)
    assert scratch_of(second) is next(iter(first.programs.values())).on(0).scratch
    kept = weakref.ref(scratch_of(second))
    del first
    gc.collect()
    assert kept() is scratch_of(second)
    del second
    gc.collect()
    assert kept() is None


def test_streams_have_arenas_of_their_own_and_few_are_kept(diamonds):
    executor = Executor(diamonds, "cuda:0")
    streams = [Stream() for _ in range(STREAMS_KEPT + 2)]
    for _ in range(2):
        # Kept: inputs are of another stream, whose next copy could take a freed one's place.
        given = [gpu(numbers(5000, i)) for i in range(len(streams))]
        made = [executor([x], stream=s.handle) for x, s in zip(given, streams, strict=True)]
        for i, (y,) in enumerate(made):
            assert np.array_equal(array_of(y), 4 * numbers(5000, i) + 8)
        (program,) = executor.programs.values()
        assert len(program.known) == STREAMS_KEPT
    arenas = {program.on(s.handle).scratch.memory.pointer for s in streams[-STREAMS_KEPT:]}
    assert len(arenas) == STREAMS_KEPT


def test_a_region_may_call_another_graph_on_the_same_stream(diamonds, cubin):
    inner = Executor(diamonds, "cuda:0")

    def region(reads, writes):
        (y,) = inner([reads[0]])
        call("cuMemcpyDtoDAsync", writes[0].pointer, y.pointer, y.nbytes, 0)

    archive = Archive({"main": hosted(ARCH, **WIDE)}, {"unit": cubin})
    executor = Executor(archive, "cuda:0", host_steps={"region": region})
    for count in (300, 20, 70_000):
        (y,) = executor([gpu(numbers(count))])
        assert np.array_equal(array_of(y), 8 * numbers(count) + 11)


def branches(count, n):
    """`count` copies of 4 of the `n` elements of x, each made by a kernel that waits first, that
    nothing connects."""
    buffers = [buffer("x", "input", n)] + [buffer(f"y{i}", "output", n) for i in range(count)]
    steps = [launch("wait", [0], [i + 1], 4, 2_000_000, block=(32, 1, 1)) for i in range(count)]
    outputs = tuple(range(1, count + 1))
    return Plan(ARCH, tuple(buffers), tuple(steps), (0,), outputs)


def test_branches_of_some_length_wait_for_nothing(cubin):
    x = gpu(numbers(SHORT))
    executor = Executor(Archive({"main": branches(8, SHORT)}, {"unit": cubin}), "cuda:0")
    for y in executor([x]):
        assert np.array_equal(array_of(y)[:4], numbers(SHORT)[:4])
    (program,) = executor.programs.values()
    assert program.bound.waits == (frozenset(),) * 8


def test_constants_are_derived_and_derived_again(cubin):
    shape = {"block": (32, 1, 1)}
    archive = Archive(weighted(ARCH, **shape), {"unit": cubin})
    w = gpu(numbers(4))
    executor = Executor(archive, "cuda:0", weights={"w": w})
    (y,) = executor([gpu(np.zeros(4, np.float32))])
    assert np.array_equal(array_of(y), 3 * numbers(4))
    ten = np.full(4, 10, np.float32)
    call("cuMemcpyHtoD", w.pointer, ten.ctypes.data, ten.nbytes)
    executor.refresh()
    (y,) = executor([gpu(np.zeros(4, np.float32))])
    assert np.array_equal(array_of(y), 3 * ten)


def test_the_framework_runs_its_regions_between_graphs(cubin):
    def region(reads, writes):
        assert current.handle == stream.handle
        call(
            "cuMemcpyDtoDAsync", writes[0].pointer, reads[0].pointer, reads[0].nbytes, stream.handle
        )

    stream = Stream()
    archive = Archive({"main": hosted(ARCH, **WIDE)}, {"unit": cubin})
    executor = Executor(archive, "cuda:0", host_steps={"region": region})
    for count in (300, 20, 300):
        (y,) = executor([gpu(numbers(count))], stream=stream.handle)
        assert np.array_equal(array_of(y), 2 * numbers(count) + 3)


def test_after_a_failure_nothing_is_stale(cubin):
    fail = True

    def region(reads, writes):
        if fail:
            raise OSError("no luck")
        call("cuMemcpyDtoDAsync", writes[0].pointer, reads[0].pointer, reads[0].nbytes, 0)

    archive = Archive({"main": hosted(ARCH, **WIDE)}, {"unit": cubin})
    executor = Executor(archive, "cuda:0", host_steps={"region": region})
    first, second = gpu(numbers(9)), gpu(numbers(9, 50))
    fail = False
    executor([first])
    fail = True
    with pytest.raises(OSError, match="no luck"):
        executor([second])
    fail = False
    (y,) = executor([second])
    assert np.array_equal(array_of(y), 2 * numbers(9, 50) + 3)


@pytest.mark.parametrize("name", ["cuGraphLaunch", "cuGraphExecKernelNodeSetParams"])
def test_a_launch_that_fails_leaves_nothing_half_done(diamonds, monkeypatch, name):
    executor = Executor(diamonds, "cuda:0")
    executor([gpu(numbers(700))])

    def failing(*args):
        monkeypatch.undo()
        return (cu.CUresult.CUDA_ERROR_LAUNCH_FAILED,)

    others = {each: getattr(cu, each) for each in dir(cu)}
    for module in (segment, kernel_node):
        monkeypatch.setattr(module, "cu", SimpleNamespace(**{**others, name: failing}))
    x = gpu(numbers(700, 50))
    with pytest.raises(CudaError, match=f"{name} failed: CUDA_ERROR_LAUNCH_FAILED"):
        executor([x])
    for start in (50, 90):
        (y,) = executor([x if start == 50 else gpu(numbers(700, start))])
        assert np.array_equal(array_of(y), 4 * numbers(700, start) + 8)


def test_streams_and_threads_share_an_executor(diamonds):
    executor = Executor(diamonds, "cuda:0")
    wrong = []

    def work(seed):
        make_current("cuda:0")
        stream = Stream()
        kept = []
        for iteration in range(40):
            start = 1000 * seed + iteration
            x = gpu(numbers(5000, start))
            kept.append((start, x, *executor([x], stream=stream.handle)))
        stream.synchronize()
        for start, _, y in kept:
            if not np.array_equal(array_of(y), 4 * numbers(5000, start) + 8):
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_foreign_capture_takes_the_kernels(diamonds):
    executor = Executor(diamonds, "cuda:0")
    x = gpu(numbers(700))
    executor([x])  # what has to be loaded is loaded before
    stream = Stream()
    call(
        "cuStreamBeginCapture", stream.handle, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    )
    assert is_capturing(stream.handle)
    (y,) = executor([x], stream=stream.handle)
    graph = call("cuStreamEndCapture", stream.handle)
    _, nodes = cu.cuGraphGetNodes(graph, 0)[1:]
    assert nodes == 4
    runnable = call("cuGraphInstantiate", graph, 0)
    others = [executor([gpu(numbers(700, 9))])[0] for _ in range(3)]
    for start in (0, 30):
        values = numbers(700, start)
        call("cuMemcpyHtoD", x.pointer, values.ctypes.data, values.nbytes)
        call("cuGraphLaunch", runnable, stream.handle)
        assert np.array_equal(array_of(y), 4 * values + 8)
    for each in others:
        assert np.array_equal(array_of(each), 4 * numbers(700, 9) + 8)


def test_shared_memory_beyond_what_is_free_for_all(cubin):
    count, nbytes = 40_000, 160_000
    buffers = (buffer("x", "input", count), buffer("y", "output", count))
    step = launch("reverse", [0], [1], count, block=(256, 1, 1), shared_bytes=nbytes)
    small = replace(step, shared_bytes=1000)
    plan = Plan(ARCH, buffers, (step,), (0,), (1,))
    executor = Executor(Archive({"main": plan}, {"unit": cubin}), "cuda:0")
    executor.modules["unit"].function(small.function, small.shared_bytes)
    (y,) = executor([gpu(numbers(count))])
    assert np.array_equal(array_of(y), numbers(count)[::-1])


def test_too_much_shared_memory_is_said(cubin):
    buffers = (buffer("x", "input", 4), buffer("y", "output", 4))
    step = launch("reverse", [0], [1], 4, block=(32, 1, 1), shared_bytes=1 << 20)
    executor = Executor(
        Archive({"main": Plan(ARCH, buffers, (step,), (0,), (1,))}, {"unit": cubin}), "cuda:0"
    )
    with pytest.raises(BadArchive, match="reverse needs 1048576 bytes of shared memory"):
        executor([gpu(numbers(4))])


def test_unaligned_inputs_are_refused(diamonds):
    x = gpu(numbers(100))
    moved = replace(x, pointer=x.pointer + 4, shape=(99,))
    with pytest.raises(BadArgument, match="input 0 does not start at a multiple of 16 bytes"):
        Executor(diamonds, "cuda:0")([moved])


def test_code_for_another_capability_is_refused(cubin):
    archive = Archive(
        {"main": diamond("sm_80" if ARCH.startswith("sm_1") else "sm_120", **WIDE)}, {"unit": cubin}
    )
    with pytest.raises(BadArchive, match=r"compiled for sm_\d+; cuda:0 is sm_"):
        Executor(archive, "cuda:0")


def test_a_kernel_that_is_not_there_is_named(diamonds):
    steps = (replace(diamonds.main.steps[0], function="thrice"),)
    broken = replace(diamonds, plans={"main": replace(diamonds.main, steps=steps)})
    with pytest.raises(BadArchive, match="no kernel 'thrice'"):
        Executor(broken, "cuda:0")([gpu(numbers(4))])
