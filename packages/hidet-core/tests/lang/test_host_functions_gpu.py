"""Host functions with branches, loops and workspaces, and calls from several threads, on a GPU."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hidet
from hidet.lang import attr, cdiv, f32, i32, script, tensor
from hidet.runtime.binding.memory import array_of, to_device

from .launched_kernels import added, halves, parts, size

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"


@script
def stepped(a: f32[size], b: f32[parts], iterations: i32):
    attr.func_kind = "public"
    once = tensor(f32, (cdiv(size, 2),), "global")
    for i in range(iterations):
        if i % 2 == 0:
            added(a, i + 1)
    if size < 8:
        halves(a, b)
    else:
        halves(a, once)
        halves(once, b)


def expected(x, iterations):
    x = x + sum(i + 1 for i in range(iterations) if i % 2 == 0)
    times = 1 if len(x) < 8 else 2
    for _ in range(times):
        x = np.pad(x, (0, len(x) % 2)).reshape(-1, 2).sum(1)
    return x


def outcome(function, x, iterations):
    wanted = expected(x, iterations)
    given, result = to_device(x, DEVICE), to_device(np.zeros(len(wanted), np.float32), DEVICE)
    function(given, result, iterations)
    return array_of(result), wanted


@pytest.fixture(scope="module")
def function():
    return hidet.driver.build_ir_module(stepped.ir_module())


@pytest.mark.parametrize("count", [1, 7, 8, 33, 1029])
def test_sizes_and_numbers_decide(function, count):
    for iterations in (0, 1, 5):
        found, wanted = outcome(function, np.arange(count, dtype=np.float32), iterations)
        assert found.tolist() == wanted.tolist()


def test_calls_from_several_threads_share_one_function(function):
    def called(count):
        return [outcome(function, np.full(count, 2, np.float32), count % 4) for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        for results in pool.map(called, (9, 10, 33, 64, 9, 65, 129, 7)):
            for found, wanted in results:
                assert found.tolist() == wanted.tolist()
