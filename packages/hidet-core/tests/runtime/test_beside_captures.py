"""Nothing that the runtime does ends somebody else's capture: by the rules, without a GPU.

The driver of these tests behaves as while a capture in the mode "global" is under way, which
forbids most, to every thread.
"""

import gc
import threading

import numpy as np
import pytest

from hidet.errors import Capturing, CudaError
from hidet.runtime import Archive, Executor, executor
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.devices import cuda_memory
from hidet.runtime.devices.captures import Owner, wait_for_device
from hidet.runtime.devices.dlpack import exported
from hidet.runtime.devices.stream import Event, Stream, Work
from hidet.runtime.devices.view import View
from hidet.runtime.programs import cuda_program

from .capture_rules import forget, install
from .conftest import diamond, hosted, weighted

cu = pytest.importorskip("cuda.bindings.driver")
CAPTURED, OTHER = 0x5000, 0x7000


@pytest.fixture
def rules(monkeypatch):
    """The driver; all that was made with it goes before it does."""
    monkeypatch.setattr(cuda_memory, "_free", type(cuda_memory._free)(list))
    monkeypatch.setattr(cuda_memory, "_captured", [])
    made = install(monkeypatch, cu)
    made.capturing.add(CAPTURED)
    yield made
    gc.collect()
    for each in gc.get_objects():
        if issubclass(type(each), Owner):  # that a failure still holds: no real driver knows it
            each.handles = list
    cuda_memory._free.clear()
    cuda_memory._captured.clear()
    forget()


def loaded():
    return Executor(Archive({"main": diamond("sm_90a")}, {"unit": b""}), "cuda:0")


@pytest.fixture
def diamonds(rules):
    return loaded()


def x(count):
    return View(0x1000, (count,), "float32", "cuda:0")


WEIGHTS = {"w": np.ones(4, np.float32)}


def test_a_graph_is_loaded_made_run_and_collected(rules):
    diamonds = loaded()
    diamonds([x(3)], stream=OTHER)
    diamonds([x(5)], stream=OTHER)
    assert rules.told.count("cuGraphLaunch") == 2
    del diamonds
    gc.collect()
    assert {"cuGraphExecDestroy", "cuGraphDestroy", "cuEventDestroy"} < set(rules.told)
    assert rules.ended == []


def test_only_what_moved_is_patched(rules, diamonds):
    """x is read by the first of four kernels, y written by the last, in between lies the arena."""
    patch = "cuGraphExecKernelNodeSetParams"
    program, patched = diamonds.program([x(3)]), []
    for given, made in ((16, 32), (16, 32), (48, 32), (48, 64), (16, 32), (16, 32)):
        program([given, made], OTHER)
        patched.append(rules.told.count(patch))
        rules.told.clear()
    assert patched == [0, 0, 1, 1, 2, 0]
    diamonds.scratch_on(OTHER).reserve(1 << 20)  # for another graph: the arena is elsewhere
    program([16, 32], OTHER)
    assert rules.told.count(patch) == 4


def test_each_stream_has_its_own_graph_whichever_came_last(rules, diamonds):
    program = diamonds.program([x(3)])
    for stream in (OTHER, OTHER, OTHER + 8, OTHER, OTHER + 8, OTHER + 8):
        program([16, 32], stream)
    assert rules.told.count("cuGraphInstantiate") == 2
    assert rules.told.count("cuGraphLaunch") == 6
    assert program.on(OTHER) is not program.on(OTHER + 8)


def test_the_first_call_may_be_in_the_capture(rules, diamonds):
    diamonds([x(3)], stream=CAPTURED)
    launches = [each for each in rules.told if each.startswith("cuLaunchKernel")]
    assert len(launches) == 4
    assert "cuGraphLaunch" not in rules.told
    assert rules.ended == []


def test_shapes_and_streams_that_are_let_go(rules, diamonds, monkeypatch):
    monkeypatch.setattr(executor, "SHAPES_KEPT", 1)
    monkeypatch.setattr(cuda_program, "STREAMS_KEPT", 1)
    for count in (3, 5, 7):
        for stream in (OTHER, OTHER + 8, CAPTURED):
            diamonds([x(count)], stream=stream)
    gc.collect()
    assert rules.told.count("cuGraphExecDestroy") >= 5
    assert rules.ended == []


def test_more_scratch_memory_is_taken(rules, diamonds):
    """From an allocator that knows nothing of captures."""
    taken = []

    class Plain:
        def empty(self, nbytes, device):
            taken.append(nbytes)
            return View(int(rules.answer("cuMemAlloc", (nbytes,))[1]), (nbytes,), "uint8", device)

    scratch = diamonds.scratch_on(OTHER)
    scratch.allocator = Plain()
    for count in (3, 100_000):
        diamonds([x(count)], stream=OTHER)
    assert len(taken) == 2
    assert rules.ended == []


@pytest.mark.parametrize("given", [True, False])
def test_what_is_derived_is_made_again(rules, given):
    """Before, this waited for all work of the context, which ends every capture."""
    values = to_device(WEIGHTS["w"], "cuda:0")
    held = {} if given else WEIGHTS
    archive = Archive(weighted("sm_90a"), {"unit": b""}, held)
    made = Executor(archive, "cuda:0", weights={"w": values} if given else None)
    if given:
        made.refresh(OTHER)
    made([x(4)], stream=OTHER)
    assert rules.ended == []


def test_not_for_who_captures_himself(rules):
    """The capture stays as it was, and a later call does what this one could not."""
    values = to_device(WEIGHTS["w"], "cuda:0")
    archive = Archive(weighted("sm_90a"), {"unit": b""})
    with pytest.raises(Capturing, match="cannot be made"):
        Executor(archive, "cuda:0", weights={"w": values}, stream=CAPTURED)
    made = Executor(archive, "cuda:0", weights={"w": values}, stream=OTHER)
    launched = len([each for each in rules.told if each.startswith("cuLaunchKernel")])
    with pytest.raises(Capturing, match="cannot be made"):
        made.refresh(CAPTURED)
    assert len([each for each in rules.told if each.startswith("cuLaunchKernel")]) == launched
    made.refresh(OTHER)
    assert rules.ended == []


def test_what_a_file_holds_is_derived_in_a_capture_too(rules):
    """It is loaded at the first call, and computed beside the capture."""
    made = Executor(Archive(weighted("sm_90a"), {"unit": b""}, WEIGHTS), "cuda:0")
    made([x(4)], stream=CAPTURED)
    assert rules.ended == []


def test_memory_that_is_kept_goes_back_when_there_is_no_other(rules):
    kept = cuda_memory.CudaAllocator().empty(4096, "cuda:0")
    del kept
    rules.full = True
    with pytest.raises(CudaError, match="free memory"):
        cuda_memory.CudaAllocator().empty(1 << 20, "cuda:0")
    assert rules.told.count("cuMemFree") == 1
    assert rules.ended == []


def test_a_failure_within_a_captured_call_leaves_no_trace(rules):
    def region(reads, writes):
        raise OSError("mine")

    archive = Archive({"main": hosted("sm_90a")}, {"unit": b""})
    made = Executor(archive, "cuda:0", host_steps={"region": region})
    made.host_steps["region"] = region
    for stream in (CAPTURED, OTHER):
        with pytest.raises(OSError, match="mine"):
            made([x(4)], stream=stream)
    made.host_steps["region"] = lambda reads, writes: None
    made([x(4)], stream=OTHER)
    assert rules.ended == []


def test_threads_that_call_while_another_captures(rules, diamonds):
    failures = []

    def work(stream):
        try:
            for count in (3, 5, 3):
                diamonds([x(count)], stream=stream)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(each,)) for each in (OTHER, OTHER + 8, CAPTURED)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rules.ended == []


def test_waits(rules):
    stream, event = Stream(), Event("cuda:0")
    stream.synchronize()
    event.synchronize()
    for rules.full in (True, False):
        wait_for_device()
    assert {"cuMemFree", "cuMemFreeHost"} < set(rules.told)
    rules.told.clear()
    wait_for_device()
    assert rules.told.count("cuMemAlloc") == rules.told.count("cuMemFree") == 1
    assert rules.ended == []


def test_a_captured_stream_does_not_wait_for_what_is_no_part_of_it(rules):
    """CUDA forbids it; so the host waits."""
    view = to_device(np.ones(4, np.float32), "cuda:0")
    rules.told.clear()
    exported(view, CAPTURED)
    assert "cuEventSynchronize" in rules.told
    assert "cuStreamWaitEvent" not in rules.told
    exported(view, OTHER)
    assert "cuStreamWaitEvent" in rules.told
    assert rules.ended == []


def test_reading_values_fails_and_says_why(rules):
    """Whoever asks for values waits for the device, as in frameworks; a capture has none yet."""
    view = to_device(np.ones(4, np.float32), "cuda:0")
    with pytest.raises(CudaError) as told:
        array_of(view)
    assert "a CUDA graph is being captured" in told.value.help


def test_work_on_a_stream_that_fails_at_once_leaves_no_trace(rules, monkeypatch):
    restored = []
    monkeypatch.setattr("hidet.runtime.devices.stream.make_current", lambda device: "before")
    monkeypatch.setattr("hidet.runtime.devices.stream.restore", restored.append)
    fails = cu.CUresult.CUDA_ERROR_INVALID_HANDLE
    monkeypatch.setattr(rules, "cuStreamIsCapturing", lambda stream: (fails, 0), raising=False)
    with pytest.raises(CudaError, match="cuStreamIsCapturing"), Work("cuda:0", OTHER):
        pass
    assert restored == ["before"]


def test_a_call_asks_the_driver_for_nothing_more(rules, diamonds):
    """What a call costs the host: captures by others add nothing to it."""
    program = diamonds.program([x(3)])
    for address in (0x1000, 0x2000):
        rules.told.clear()
        program([0x1000, address], OTHER)
    assert rules.told == [
        "cuCtxGetCurrent",
        "cuStreamIsCapturing",
        "cuStreamWaitEvent",
        "cuGraphExecKernelNodeSetParams",
        "cuGraphLaunch",
        "cuEventRecord",
    ]
