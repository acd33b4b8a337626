"""Host functions: launches written as calls, sizes and tensors between them."""

import linecache

import numpy as np
import pytest

import hidet
from hidet.errors import HidetError
from hidet.lang import attr, cdiv, f32, i32, parallel, script, script_module, static, tensor
from hidet.lang.cuda import blockIdx, threadIdx

size = hidet.symbol_var("size")


@script
def shifted(a: f32[size], b: f32[size], by: f32):
    attr.cuda_grid_dim = cdiv(size, 32)
    attr.cuda_block_dim = 32
    i = blockIdx.x * 32 + threadIdx.x
    if i < size:
        b[i] = a[i] + by


@script
def doubled(a: f32[size], b: f32[size]):
    attr.cuda_grid_dim = cdiv(size, 32)
    attr.cuda_block_dim = 32
    i = blockIdx.x * 32 + threadIdx.x
    if i < size:
        b[i] = a[i] * 2


@script
def pipeline(a: f32[size], c: f32[size], by: f32):
    attr.func_kind = "public"
    between = tensor(f32, (size,), "global")
    twice = by * 2
    shifted(a, between, by=twice)
    for _ in static(range(2)):
        doubled(between, between)
    doubled(between, c)


def test_kernels_run_in_order_for_any_size():
    function = hidet.driver.build_ir_module(pipeline.ir_module(), target="sim")
    for count in (5, 40):
        x, y = np.ones(count, np.float32), np.zeros(count, np.float32)
        function(x, y, 0.5)
        assert y.tolist() == [16.0] * count


def test_it_is_what_its_module_launches():
    with script_module() as module:

        @script
        def again(a: f32[size]):
            attr.func_kind = "public"
            doubled(a, a)

    assert [str(call) for call in module.ir_module().calls] == [
        str(call) for call in again.ir_module().calls
    ]


def test_one_that_launches_nothing_runs_on_the_cpu():
    @script
    def on_the_cpu(a: f32[8]):
        attr.func_kind = "public"
        for i in parallel(8):
            a[i] = a[i] * 2

    x = np.ones(8, np.float32)
    hidet.driver.build_ir_module(on_the_cpu.ir_module())(x)
    assert x.tolist() == [2.0] * 8


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("doubled(a, a); a[0] = 1.0", "neither reads nor writes tensors itself"),
        ("for i in range(1, size): b = tensor(f32, (i,), 'global')", "made when the host function"),
        ("shifted(a, a, a[0])", "cannot depend on `a\\[0\\]`"),
        ("x = a[0]; doubled(a, a)", "cannot depend on `a\\[0\\]`"),
        ("doubled(a, tensor(f32, (3, 4), 'global'))", "`b` is f32\\[size\\], the argument is"),
        ("doubled(a)", "takes \\(a, b\\); arguments given: 1"),
        ("doubled(a, 1.0)", "`b` is f32\\[size\\], the argument is 1.0"),
        ("b = tensor(f32, (size,), 'global', init=0.0); doubled(a, b)", "neither a layout nor"),
    ],
)
def test_what_a_host_function_cannot(body, message):
    text = f"def host(a: f32[size]):\n    attr.func_kind = 'public'\n    {body}\n"
    linecache.cache["<host>"] = (len(text), None, text.splitlines(keepends=True), "<host>")
    names = dict(globals())
    exec(compile(text, "<host>", "exec"), names)
    with pytest.raises(HidetError, match=message):
        script(names["host"])


def test_a_kernel_launches_none():
    def kernel(a: f32[size], count: i32):
        attr.cuda_block_dim = 32
        doubled(a, a)

    with pytest.raises(HidetError, match="a kernel does not call another"):
        script(kernel)
