"""Host functions that decide at run time what they launch, in the simulator and compiled."""

import numpy as np
import pytest

import hidet
from hidet.build.launches import sized
from hidet.errors import HidetError
from hidet.lang import attr, cdiv, f32, i32, parallel, script, tensor

from .launched_kernels import added, halves, size


@script
def added_on_the_cpu(a: f32[size], by: f32):
    attr.func_kind = "cpu_kernel"
    for i in parallel(size):
        a[i] += by


def counting(step):
    """A host function around a kernel that adds a number to a tensor."""

    @script
    def host(a: f32[size], iterations: i32, most: f32):
        attr.func_kind = "public"
        if size > 40:
            step(a, 100.0)
        elif iterations == 0:
            step(a, 1000.0)
        else:
            for i in range(iterations):
                if i == 3:
                    break
                step(a, i + 1)
        total = 1.0
        while total < most:
            total = total * 2
            if total == 8.0:
                continue
            step(a, total)

    return host


def expected(count, iterations, most):
    value = (
        100.0
        if count > 40
        else 1000.0
        if iterations == 0
        else float(sum(range(1, 1 + min(iterations, 3))))
    )
    total = 1.0
    while total < most:
        total *= 2
        value += 0.0 if total == 8 else total
    return value


@pytest.mark.parametrize(
    ("step", "target"), [(added, "sim"), (added_on_the_cpu, None)], ids=["simulated", "cpu"]
)
@pytest.mark.parametrize("count", [1, 33, 50])
def test_branches_and_loops_on_sizes_and_numbers(step, target, count):
    function = hidet.driver.build_ir_module(counting(step).ir_module(), target=target)
    for iterations, most in [(0, 0.0), (2, 5.0), (7, 40.0)]:
        x = np.zeros(count, np.float32)
        function(x, iterations, most)
        assert x.tolist() == [expected(count, iterations, most)] * count


@script
def whole(a: f32[size], b: f32[1]):
    """A sum by one thread."""
    attr.cuda_block_dim = 1
    total = 0.0
    for i in range(size):
        total += a[i]
    b[0] = total


@script
def summed(a: f32[size], b: f32[1]):
    attr.func_kind = "public"
    once = tensor(f32, (cdiv(size, 2),), "global")
    twice = tensor(f32, (cdiv(cdiv(size, 2), 2),), "global")
    if size < 8:
        whole(a, b)
        return
    halves(a, once)
    halves(once, twice)
    whole(twice, b)


@pytest.mark.parametrize("count", [1, 7, 8, 33, 129])
def test_workspaces_of_other_sizes_and_an_early_return(count):
    function = hidet.driver.build_ir_module(summed.ir_module(), target="sim")
    x, total = np.arange(count, dtype=np.float32), np.zeros(1, np.float32)
    function(x, total)
    assert total[0] == x.sum()


def test_the_module_is_readable():
    assert str(summed.ir_module()).splitlines()[:8] == [
        "module summed(a: f32[size], b: f32[1]):",
        "  workspace once: f32[((size + 1) // 2)]",
        "  workspace twice: f32[((((size + 1) // 2) + 1) // 2)]",
        "  if (size < 8):",
        "    launch whole(a, b)",
        "    return",
        "  launch halves(a, once)",
        "  launch halves(once, twice)",
    ]


def test_one_that_does_not_end(monkeypatch):
    monkeypatch.setattr("hidet.ir.host.MOST_STEPS", 100)

    @script
    def host(a: f32[size]):
        attr.func_kind = "public"
        while size > 0:
            added(a, 0.0)

    function = hidet.driver.build_ir_module(host.ir_module(), target="sm_90a")
    with pytest.raises(HidetError, match="did not end in 100 steps"):
        sized(host.ir_module(), function.kernels, {host.ir_module().params[0]: (3,)})


def test_a_helper_that_launches():
    @script
    def twice(a: f32[size], by: f32):
        added(a, by)
        added(a, by * 2)

    @script
    def host(a: f32[size]):
        attr.func_kind = "public"
        for i in range(2):
            twice(a, i)

    x = np.zeros(3, np.float32)
    hidet.driver.build_ir_module(host.ir_module(), target="sim")(x)
    assert x.tolist() == [3.0] * 3
