"""Several GPUs in one process and thread: each has its code, memory, streams and graphs."""

import threading

import numpy as np
import pytest

import hidet
from hidet.build.compile import compile_graph
from hidet.errors import BadArgument
from hidet.runtime import Archive, Executor
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.devices.device import current_device, device_count, make_current, on
from hidet.runtime.devices.stream import Stream

from .conftest import ARCH, diamond, weighted

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(device_count() < 2, reason="needs two GPUs"),
]
WIDE = {"grid": (["//", ["+", "n", 127], 128], 1, 1), "block": (128, 1, 1)}
DEVICES = ("cuda:0", "cuda:1")


def numbers(count, start=0):
    return np.arange(start, start + count, dtype=np.float32)


@pytest.fixture(autouse=True)
def first_is_current():
    make_current("cuda:0")
    yield
    assert current_device() == "cuda:0"


@pytest.mark.parametrize("use_graph", [True, False])
def test_one_archive_on_two_devices(cubin, use_graph):
    archive = Archive({"main": diamond(ARCH, **WIDE)}, {"unit": cubin})
    executors = {each: Executor(archive, each, use_graph=use_graph) for each in DEVICES}
    for iteration in range(4):
        for device, executor in executors.items():
            (y,) = executor([to_device(numbers(5000, iteration), device)])
            assert y.device == device
            assert np.array_equal(array_of(y), 4 * numbers(5000, iteration) + 8)
            assert current_device() == "cuda:0"


def test_the_current_device_is_another(cubin):
    archive = Archive({"main": diamond(ARCH, **WIDE)}, {"unit": cubin})
    executor = Executor(archive, "cuda:1")
    x = to_device(numbers(5000), "cuda:1")
    for current in DEVICES:
        with on(current):
            (y,) = executor([x])
            stream = Stream("cuda:1")
            (z,) = executor([x], stream=stream.handle)
            assert current_device() == current
        for each in (y, z):
            assert np.array_equal(array_of(each), 4 * numbers(5000) + 8)


def test_constants_are_derived_on_their_device(cubin):
    weights = {"w": numbers(4)}
    archive = Archive(weighted(ARCH, block=(32, 1, 1)), {"unit": cubin}, weights)
    for device in DEVICES:
        executor = Executor(archive, device)
        (y,) = executor([to_device(np.zeros(4, np.float32), device)])
        assert np.array_equal(array_of(y), 3 * numbers(4))


def test_an_input_on_the_other_device_is_refused(cubin):
    executor = Executor(Archive({"main": diamond(ARCH, **WIDE)}, {"unit": cubin}), "cuda:1")
    with pytest.raises(BadArgument, match="input x is on cuda:0; the graph runs on cuda:1"):
        executor([to_device(numbers(8), "cuda:0")])


def test_a_thread_for_each_device(cubin):
    archive = Archive({"main": diamond(ARCH, **WIDE)}, {"unit": cubin})
    executors = {each: Executor(archive, each) for each in DEVICES}
    wrong = []

    def work(device, other):
        make_current(other)  # each thread has the other's device current
        for iteration in range(50):
            (y,) = executors[device]([to_device(numbers(3000, iteration), device)])
            if not np.array_equal(array_of(y), 4 * numbers(3000, iteration) + 8):
                wrong.append((device, iteration))

    threads = [threading.Thread(target=work, args=pair) for pair in (DEVICES, DEVICES[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_compiled_graphs_run_where_their_tensors_are():
    w = np.random.default_rng(0).standard_normal((33, 17)).astype(np.float32)
    x = np.random.default_rng(1).standard_normal((5, 33)).astype(np.float32)
    for device in DEVICES:
        given = hidet.symbol(x.shape, "float32", device=device)
        y = hidet.ops.relu(hidet.ops.matmul(given, hidet.asarray(w, device=device)))
        compiled = compile_graph(hidet.trace_from(y, [given]))
        views = {name: tensor.storage for name, tensor in compiled.weights.items()}
        (found,) = Executor(compiled.archive, device, weights=views)([to_device(x, device)])
        np.testing.assert_allclose(array_of(found), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-4)
