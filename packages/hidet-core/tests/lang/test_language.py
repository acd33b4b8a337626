"""The language that users of the original know, item by item, in the simulator and on the CPU."""

import linecache
from typing import Any

import numpy as np
import pytest

import hidet
from hidet.errors import HidetError
from hidet.ir.expr import Get, Var
from hidet.lang import (
    address,
    as_tensor_pointer,
    attr,
    attrs,
    deref,
    f32,
    grid,
    i32,
    meta,
    repeat,
    script,
    script_module,
    spatial,
    view,
)
from hidet.lang.cuda import blockIdx, syncwarp, threadIdx


def counted(*shape, dtype=np.float32):
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def run(function, *arrays, target="sim"):
    hidet.driver.build_ir_module(function.ir_module(), target=target)(*arrays)


def test_every_attribute_by_its_dotted_name():
    @script
    def kernel(a: f32[64]):
        attrs.func_kind = "cuda_kernel"
        attrs.func_name = "renamed"
        attrs.cuda.grid_dim = 2
        attrs.cuda.block_dim = 32
        attrs.cuda.cluster_dim = 2
        attrs.cuda.min_blocks = 2
        attrs.cuda.dynamic_smem_bytes = 1024
        a[blockIdx.x * 32 + threadIdx.x] = 1.0

    x = counted(64)
    run(kernel, x)
    assert (x == 1).all()
    launch = kernel.kernel.launch
    assert kernel.name == "renamed"
    assert (launch.cluster, launch.min_blocks, launch.shared_bytes) == ((2, 1, 1), 2, 1024)


@pytest.mark.parametrize(("kind", "target"), [("cuda", "sim"), ("cpu", None)])
def test_functions_that_say_that_they_are_parts(kind, target):
    @script
    def on_the_gpu(x: f32) -> f32:
        attrs.func_kind = "cuda_internal"
        return x * 2

    @script
    def on_the_cpu(x: f32) -> f32:
        attrs.func_kind = "cpu_internal"
        return x * 2

    part = on_the_gpu if kind == "cuda" else on_the_cpu

    @script
    def cuda(a: f32[4]):
        attr.cuda_block_dim = 4
        a[threadIdx.x] = part(a[threadIdx.x])

    @script
    def cpu(a: f32[4]):
        attr.func_kind = "cpu_kernel"
        for i in range(4):
            a[i] = part(a[i])

    x = counted(4)
    run(cuda if kind == "cuda" else cpu, x, target=target)
    assert x.tolist() == [0, 2, 4, 6]


def test_other_attributes_of_a_part_are_refused():
    @script
    def part(x: f32) -> f32:
        attrs.func_kind = "cuda_internal"
        attrs.cuda.block_dim = 4
        return x

    def kernel(a: f32[4]):
        attr.cuda_block_dim = 4
        a[0] = part(a[0])

    with pytest.raises(HidetError, match="called by a script has no kernel attributes"):
        script(kernel)


def test_grids_of_lists_and_how_their_loops_run():
    @script
    def kernel(a: f32[6, 8]):
        attr.func_kind = "cpu_kernel"
        for i, j in grid([6, 8], attrs="p."):
            a[i, j] = i
        for i, j in grid(2, 2, attrs="u+"):
            a[i, j] = 9.0

    x = counted(6, 8)
    run(kernel, x, target=None)
    assert x[:, 7].tolist() == [0, 1, 2, 3, 4, 5]
    assert (x[:2, :2] == 9).all()
    assert "# parallel" in str(kernel.kernel)
    with pytest.raises(HidetError, match="'q' does not say how 2 loops run"):
        grid(2, 2, attrs="q")
    with pytest.raises(HidetError, match="does not say how 3 loops run"):
        grid(2, 2, 2, attrs="pu")


def test_mappings_by_ranks_and_their_tasks_by_other_names():
    mapping = spatial(4, 8, ranks=[1, 0])
    assert mapping == spatial(4, 8, order=[1, 0])
    assert spatial(2, 3, 4, ranks=[2, 0, 1]) == spatial(2, 3, 4, order=[1, 2, 0])
    assert repeat(2, 1).spatial(2, 8, ranks=[1, 0]).workers == 16
    with pytest.raises(HidetError, match="not a permutation"):
        spatial(2, 2, ranks=[0, 0])
    with pytest.raises(TypeError):
        list(mapping)

    @script
    def kernel(a: i32[4, 8], b: i32[4, 8]):
        attr.cuda_block_dim = 32
        i, j = mapping.map(threadIdx.x)
        a[i, j] = threadIdx.x
        for i2, j2 in mapping[threadIdx.x]:
            b[i2, j2] = threadIdx.x

    x, y = counted(4, 8, dtype=np.int32), counted(4, 8, dtype=np.int32)
    run(kernel, x, y)
    assert x.tolist() == y.tolist() == np.arange(32).reshape(8, 4).T.tolist()


def test_one_name_for_many_parameters():
    several = [f32[4], f32[4], f32]

    @script
    def kernel(args: meta.types(several), out: f32[4]):
        attr.cuda_block_dim = 4
        total = args[2]
        for each in meta.each(args[:2]):
            total += each[threadIdx.x]
        out[threadIdx.x] = total

    assert [param.name for param in kernel.kernel.params] == ["args_0", "args_1", "args_2", "out"]
    out = counted(4)
    run(kernel, counted(4), counted(4), 0.5, out)
    assert out.tolist() == [0.5, 2.5, 4.5, 6.5]


def test_parameters_that_exist():
    x, y = (Var(name, f32[4]) for name in "xy")
    doubled = Get(x, (threadIdx.x,)) * 2.0

    @script(args=meta.types([x, y]))
    def kernel(args: Any) -> None:
        attr.cuda_block_dim = 4
        args[1][threadIdx.x] = doubled

    assert kernel.kernel.params == (x, y)
    out = counted(4)
    run(kernel, counted(4), out)
    assert out.tolist() == [0, 2, 4, 6]


def test_memory_behind_a_pointer_as_a_tensor():
    @script
    def filled(row: ~f32, value: f32):
        part = as_tensor_pointer(row, "float32", [2, 4])
        part[threadIdx.x // 4, threadIdx.x % 4] = value

    @script
    def kernel(p: ~f32, a: f32[4, 8]):
        attr.cuda_block_dim = 8
        whole = view(p, f32[4, 8])
        for i in range(4):
            a[i, threadIdx.x] = whole[i, threadIdx.x] + whole.shape[1]
        filled(address(a, 1, 0), 7.0)
        syncwarp(0xFF)
        if threadIdx.x == 0:
            a[0, 0] = deref(p + 3) + deref(~a[1, 2])

    x, y = counted(4, 8), np.zeros((4, 8), np.float32)
    run(kernel, x, y)
    assert y[0].tolist() == [10, *range(9, 16)]
    assert (y[1] == 7).all()
    assert y[3, 7] == 39


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("view(a, f32[4])", "a view is of a pointer, not of `a`"),
        ("view(p, i32[4])", "does not point to i32"),
        ("view(p, f32[2, 2])[0] = 1.0", "the view has 2 dimensions, the index has 1"),
        ("view(p, f32)", "a view has a tensor type"),
    ],
)
def test_what_cannot_be_viewed(line, message):
    with pytest.raises(HidetError, match=message):
        written(f"def kernel(p: ~f32, a: f32[4]):\n    attr.cuda_block_dim = 1\n    {line}\n")


def written(text):
    """A script function given as text, as a notebook's cell is."""
    name = f"<cell {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = dict(globals())
    exec(compile(text, name, "exec"), names)
    return script(names["kernel"])


def test_a_size_that_is_no_size():
    with pytest.raises(HidetError) as caught:
        written("def kernel(a: f32['n']):\n    attr.cuda_block_dim = 1\n")
    assert "a size of `a` is 'n'" in str(caught.value)
    assert "symbol_var" in str(caught.value)


def test_a_module_of_kernels_and_their_launcher():
    with script_module() as module:

        @script
        def kernel(a: f32[32], by: f32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            a[threadIdx.x] += by

        @script
        def launch(a: f32[32], count: i32):
            attrs.func_kind = "public"
            for i in range(count):
                kernel(a, i)

    x = np.zeros(32, np.float32)
    run(module, x, 4)
    assert x.tolist() == [6.0] * 32
