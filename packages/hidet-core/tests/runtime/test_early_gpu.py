"""Kernels that begin early on a GPU: in graphs of our own, and where a framework captures them."""

import numpy as np
import pytest

from hidet.runtime import Archive, Executor, Plan
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.devices.device import cuda_capability, device_count
from hidet.runtime.devices.driver import call, cu
from hidet.runtime.devices.stream import Stream
from hidet.runtime.plans.occupancy import OccupancyLimit

from .conftest import ARCH, buffer, launch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        device_count() == 0 or cuda_capability("cuda:0") < (9, 0),
        reason="launches that begin early came with sm_90",
    ),
]
WIDE = {"grid": (["//", ["+", "n", 127], 128], 1, 1), "block": (128, 1, 1)}


def numbers(count, start=0):
    return np.arange(start, start + count, dtype=np.float32)


def gpu(array):
    return to_device(array, "cuda:0")


def chained(cubin, count, **more):
    """A chain of kernels, each of which waits itself and may begin early."""
    buffers = [buffer("x", "input", "n")] + [
        buffer(f"t{i}", "workspace", "n") for i in range(count)
    ]
    buffers.append(buffer("y", "output", "n"))
    steps = [
        launch("late", [i], [i + 1], "n", waits=True, **WIDE, **more) for i in range(count + 1)
    ]
    return Plan(ARCH, tuple(buffers), tuple(steps), (0,), (count + 1,), {"n": (0, 0)})


@pytest.mark.parametrize("use_graph", [True, False])
def test_kernels_that_begin_early_wait_themselves(cubin, use_graph):
    executor = Executor(
        Archive({"main": chained(cubin, 30)}, {"unit": cubin}), "cuda:0", use_graph=use_graph
    )
    for iteration in range(20):
        for count in (1000, 300_000):
            (y,) = executor([gpu(numbers(count, iteration))])
            assert np.array_equal(array_of(y), numbers(count, iteration) + 31)


def early_edges_of(graph):
    """How many edges of a graph let a kernel begin early, and how many do not."""
    name = "cuGraphGetEdges_v2" if hasattr(cu, "cuGraphGetEdges_v2") else "cuGraphGetEdges"
    count = call(name, graph, 0)[-1]
    early = cu.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
    found = [each.type == early for each in call(name, graph, count)[2]]
    return sum(found), len(found) - sum(found)


def test_kernels_in_a_foreign_capture_begin_early_after_kernels_alone(cubin):
    executor = Executor(Archive({"main": chained(cubin, 6)}, {"unit": cubin}), "cuda:0")
    source, x = gpu(numbers(300_000)), gpu(numbers(300_000))
    executor([x])
    stream, other = Stream(), Stream()
    event = call("cuEventCreate", 0)
    call(
        "cuStreamBeginCapture", stream.handle, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    )
    call("cuMemcpyDtoDAsync", x.pointer, source.pointer, x.nbytes, stream.handle)
    (y,) = executor([x], stream=stream.handle)
    call("cuEventRecord", event, stream.handle)
    call("cuStreamWaitEvent", other.handle, event, 0)
    (z,) = executor([y], stream=other.handle)
    (side,) = executor([y], stream=stream.handle)
    call("cuEventRecord", event, other.handle)
    call("cuStreamWaitEvent", stream.handle, event, 0)
    (last,) = executor([z], stream=stream.handle)
    graph = call("cuStreamEndCapture", stream.handle)
    early, plain = early_edges_of(graph)
    assert early >= 4 * 6 + 2  # those within each call, and the first ones of z and side
    assert plain >= 3  # after the copy, and of the last call after two kernels
    runnable = call("cuGraphInstantiate", graph, 0)
    for start in range(5):
        values = numbers(300_000, start)
        call("cuMemcpyHtoD", source.pointer, values.ctypes.data, values.nbytes)
        call("cuCtxSynchronize")  # large copies may return before they have arrived
        call("cuGraphLaunch", runnable, stream.handle)
        for iterations, each in ((1, y), (2, z), (2, side), (3, last)):
            assert np.array_equal(array_of(each), values + 7 * iterations)


@pytest.mark.parametrize(
    "room", [None, OccupancyLimit(132, 233472, 16, 1024)], ids=["unknown", "even"]
)
def test_after_signals_in_a_capture_only_kernels_that_lie_evenly_begin_early(cubin, room):
    plan = chained(cubin, 3, signals=True, room=room)
    executor = Executor(Archive({"main": plan}, {"unit": cubin}), "cuda:0")
    x = gpu(numbers(7000))
    executor([x])
    stream = Stream()
    mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    call("cuStreamBeginCapture", stream.handle, mode)
    (y,) = executor([x], stream=stream.handle)
    (z,) = executor([y], stream=stream.handle)
    graph = call("cuStreamEndCapture", stream.handle)
    assert early_edges_of(graph) == ((0, 7) if room is None else (7, 0))
    call("cuGraphLaunch", call("cuGraphInstantiate", graph, 0), stream.handle)
    call("cuCtxSynchronize")
    assert np.array_equal(array_of(z), numbers(7000) + 8)
