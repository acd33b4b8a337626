"""What the runtime does beside somebody else's capture of a CUDA graph."""

import ctypes
import gc
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from hidet.errors import OutOfMemory
from hidet.runtime import Archive, Executor
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.devices import captures, driver
from hidet.runtime.devices.captures import beside_captures, give_back, kept_piece, wait_for_device
from hidet.runtime.devices.device import make_current
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.launchable import CudaModule
from hidet.runtime.devices.stream import Event, Stream

from .conftest import ARCH, diamond

cu = pytest.importorskip("cuda.bindings.driver")
MODES = {
    mode: getattr(cu.CUstreamCaptureMode, f"CU_STREAM_CAPTURE_MODE_{mode.upper()}")
    for mode in ("global", "thread_local", "relaxed")
}


@pytest.fixture
def told(monkeypatch):
    """What the driver was told, by a driver that does nothing."""
    calls = []

    def exchange(mode):
        calls.append(mode.name.rpartition("_")[2].lower())
        return (cu.CUresult.CUDA_SUCCESS, MODES["global"])

    def destroy(handle):
        calls.append(handle)
        return (cu.CUresult.CUDA_ERROR_CONTEXT_IS_DESTROYED,)

    fake = SimpleNamespace(
        CUresult=cu.CUresult,
        CUstreamCaptureMode=cu.CUstreamCaptureMode,
        cuThreadExchangeStreamCaptureMode=exchange,
        cuEventDestroy=destroy,
    )
    for module in (driver, captures):
        monkeypatch.setattr(module, "cu", fake)
    return calls


def test_a_thread_is_as_it_was_after_the_block(told):
    with pytest.raises(OSError, match="mine"), beside_captures():
        raise OSError("mine")
    assert told == ["relaxed", "global"]


def test_what_is_there_is_given_back_whatever_comes_of_it(told):
    give_back(("cuEventDestroy", 5), ("cuEventDestroy", None), ("cuEventDestroy", 7))
    assert told == ["relaxed", 5, 7, "global"]


def test_a_driver_that_has_ended_is_left_alone(told, monkeypatch):
    ended = (cu.CUresult.CUDA_ERROR_DEINITIALIZED, None)
    monkeypatch.setattr(captures.cu, "cuThreadExchangeStreamCaptureMode", lambda mode: ended)
    give_back(("cuEventDestroy", 5))
    assert told == []


def test_where_nothing_is_the_driver_is_not_asked(told, monkeypatch):
    give_back(("cuEventDestroy", None))
    monkeypatch.setattr(captures, "cu", None)  # as at the end of the interpreter
    give_back(("cuEventDestroy", 5))
    assert told == []


AT_THE_END = """
import sys
from types import SimpleNamespace
from cuda.bindings import driver as cu
from hidet.runtime.devices import captures, driver, stream
from hidet.runtime.graphs import segment
from hidet.runtime.plans import sizes

def ended(*args):
    return (cu.CUresult.CUDA_ERROR_DEINITIALIZED, 0)

names = "cuThreadExchangeStreamCaptureMode cuEventDestroy cuGraphExecDestroy cuGraphDestroy"
fake = SimpleNamespace(CUresult=cu.CUresult, CUstreamCaptureMode=cu.CUstreamCaptureMode)
fake.__dict__.update(dict.fromkeys(names.split(), ended))
for module in (driver, captures, segment, stream):
    module.cu = fake

def made():
    event, graph = stream.Event.__new__(stream.Event), segment.Segment([], [])
    event.handle, graph.graph, graph.executable = 5, 6, 7
    return [event, graph, stream.Stream.__new__(stream.Stream)]

here = made()
here.append(here)
for module in (sizes, captures, segment, sys):
    module.kept = made()
"""


def test_at_the_end_of_the_interpreter_nothing_is_said():
    """The driver has ended before what it gave, and modules have lost their names."""
    told = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stderr) == (0, "")


def captured(mode, others):
    """The nodes of a graph that is captured while `others` happens in it; wants a device."""
    stream = Stream()
    memory = to_device(np.ones(4, np.float32), "cuda:0")
    call("cuStreamBeginCapture", stream.handle, MODES[mode])
    try:
        call("cuMemsetD8Async", memory.pointer, 0, 16, stream.handle)
        others()
        call("cuMemsetD8Async", memory.pointer, 0, 16, stream.handle)
    finally:
        graph = call("cuStreamEndCapture", stream.handle)
    return cu.cuGraphGetNodes(graph, 0)[2]


def in_another_thread(work):
    """Do it there, and wait for it."""

    def there():
        make_current("cuda:0")
        work()

    thread = threading.Thread(target=there)
    thread.start()
    thread.join()


def in_this_thread(work):
    work()


@pytest.fixture
def executor(cubin):
    wide = {"grid": (["//", ["+", "n", 127], 128], 1, 1), "block": (128, 1, 1)}
    return Executor(Archive({"main": diamond(ARCH, **wide)}, {"unit": cubin}), "cuda:0")


THREADS = pytest.mark.parametrize("where", [in_this_thread, in_another_thread])


@pytest.mark.gpu
@THREADS
@pytest.mark.parametrize("mode", MODES)
def test_what_is_collected_in_a_capture_does_not_end_it(mode, where, executor):
    """An executor with its graphs, streams and events."""
    stream = Stream()
    executor([to_device(np.ones(300, np.float32), "cuda:0")], stream=stream.handle)
    stream.synchronize()
    kept = [executor, stream, Stream(), Event("cuda:0"), *executor.programs.values()]
    kept.append(kept)  # only the collector finds that nobody else knows it
    del stream, executor

    def collected():
        kept.clear()
        gc.collect()

    assert captured(mode, lambda: where(collected)) == 2


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_another_thread_computes_while_one_captures(mode, executor):
    """What it needs anew for a larger input included."""
    made = []

    def compute():
        stream = Stream()
        for count in (300, 100_000):
            x = to_device(np.arange(count, dtype=np.float32), "cuda:0")
            made.append((count, x, *executor([x], stream=stream.handle)))
            stream.synchronize()

    assert captured(mode, lambda: in_another_thread(compute)) == 2
    for count, _, y in made:
        assert np.array_equal(array_of(y), 4 * np.arange(count, dtype=np.float32) + 8)
    assert len(made) == 2


def without_memory(name, *args):
    """A driver of a device that is full."""
    if name == "cuMemAlloc":
        raise OutOfMemory(name)
    return call(name, *args)


@pytest.mark.gpu
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("mode", [None, *MODES])
def test_waiting_for_the_device_waits_for_every_stream(mode, full, cubin, monkeypatch):
    """It takes memory and gives it back, which waits; also beside a capture, which lives on."""
    if full:
        monkeypatch.setattr(captures, "call", without_memory)
        kept_piece.cache_clear()
    function, stream = CudaModule(cubin, "cuda:0").function("wait"), Stream()
    x = to_device(np.arange(4, dtype=np.float32), "cuda:0")
    y = to_device(np.zeros(4, np.float32), "cuda:0")
    arguments = ((x.pointer, y.pointer, 4, 50_000_000), (ctypes.c_uint64,) * 4)
    found = np.zeros(4, np.float32)

    def waited():
        call("cuLaunchKernel", function, 1, 1, 1, 4, 1, 1, 0, stream.handle, arguments, 0)
        assert cu.cuStreamQuery(stream.handle)[0] == cu.CUresult.CUDA_ERROR_NOT_READY
        wait_for_device()
        assert cu.cuStreamQuery(stream.handle)[0] == cu.CUresult.CUDA_SUCCESS

    def beside():
        with beside_captures():
            waited()

    if mode is None:
        waited()
    else:
        assert captured(mode, beside) == 2
    call("cuMemcpyDtoH", found.ctypes.data, y.pointer, 16)
    assert np.array_equal(found, np.arange(4))
