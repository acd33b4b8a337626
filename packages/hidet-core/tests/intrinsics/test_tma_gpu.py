"""TMA on a GPU: the same functions as in the simulator, compared bit for bit."""

import numpy as np
import pytest

from hidet.build.choosing.sizes import plan_size
from hidet.codegen.cuda import emit
from hidet.driver import build_ir_module
from hidet.errors import BadArgument, BadTensorMap
from hidet.lang import bf16, f16, f32
from hidet.passes.pipeline import lower
from hidet.runtime import Archive, Buffer, Executor, Launch, Plan, Pointer, Scalar
from hidet.runtime.binding.memory import View, array_of, to_device
from hidet.runtime.devices.device import cuda_capability, device_count
from hidet.runtime.plans.maps import map_of
from hidet.toolchain import compile_cuda

from .test_tma import LOADS, REDUCTIONS, STORES, swizzled_boxes
from .tma_kernels import elements, loads, numbers, pipeline, stores, tile

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        device_count() == 0 or cuda_capability("cuda:0") < (9, 0), reason="TMA is of sm_90"
    ),
]


def on_gpu(array):
    return to_device(array, "cuda:0")


def compare(module, *arrays, nan=False):
    """Run a module in the simulator and on the GPU; every byte of all arrays agrees."""
    simulated = [array.copy() for array in arrays]
    build_ir_module(module, target="sim")(*simulated)
    views = [on_gpu(array) for array in arrays]
    build_ir_module(module)(*views)
    for expected, view in zip(simulated, views, strict=True):
        found = array_of(view)
        if nan:
            a, b = (np.isnan(each.astype(np.float64)) for each in (expected, found))
            np.testing.assert_array_equal(a, b)
            expected, found = (np.where(a, 0, each) for each in (expected, found))
        np.testing.assert_array_equal(expected.view(np.uint8), found.view(np.uint8))


@pytest.mark.parametrize(("of", "shape", "positions", "offsets"), LOADS)
@pytest.mark.parametrize("cache", [None, "evict_first"])
def test_loads(of, shape, positions, offsets, cache):
    y = np.zeros((len(positions), elements(of)[0]), of.dtype.numpy)
    compare(loads(of, positions, offsets, cache), numbers(shape, of.dtype), y)


@pytest.mark.parametrize("dtype", [f16, bf16, f32])
def test_what_is_outside_may_be_nan(dtype):
    of = tile(dtype, 4, 8, fill="nan")
    y = np.zeros((2, 32), dtype.numpy)
    compare(loads(of, [(1, 0), (-2, 8)]), numbers((3, 16), dtype), y, nan=True)


@pytest.mark.parametrize(("of", "shape", "positions"), STORES)
def test_stores(of, shape, positions):
    boxes = swizzled_boxes(of, numbers((len(positions), *of.shape), of.dtype))
    compare(stores(of, positions), boxes, numbers(shape, of.dtype, seed=1))


@pytest.mark.parametrize(("how", "dtype"), [(how, dtype) for how, dtype, _ in REDUCTIONS])
def test_reductions(how, dtype):
    of, positions = tile(dtype, 5, 8), [(0, 0), (3, 8), (0, 0)]
    boxes = swizzled_boxes(of, numbers((len(positions), 5, 8), dtype))
    compare(stores(of, positions, how), boxes, numbers((7, 16), dtype, seed=1))


@pytest.mark.parametrize("shape", [(1, 8), (7, 136), (64, 64), (129, 328), (2039, 1016)])
def test_a_pipeline(shape):
    x = numbers(shape, f16)
    compare(pipeline(), x, np.zeros_like(x))


def test_maps_follow_the_tensors_that_are_passed():
    function = build_ir_module(pipeline())
    for rows, columns, seed in ((129, 72, 0), (129, 72, 1), (65, 200, 2), (129, 72, 3)):
        x = numbers((rows, columns), f16, seed)
        kept = [on_gpu(x), on_gpu(np.zeros_like(x))]
        function(*kept)
        np.testing.assert_array_equal(array_of(kept[1]), x * 2)


def test_tensors_that_have_no_map():
    function = build_ir_module(pipeline())
    narrow = np.ones((4, 9), np.float16)
    with pytest.raises(BadTensorMap, match="multiples of 16"):
        function(on_gpu(narrow), on_gpu(narrow))
    whole = on_gpu(np.ones((5, 8), np.float16))
    inside = View(whole.pointer + 2, (4, 8), "float16", "cuda:0", whole)
    with pytest.raises(BadArgument, match="multiple of 16 bytes"):
        function(inside, on_gpu(np.ones((4, 8), np.float16)))


def planned(module):
    """An archive whose plan runs a kernel from its first to its second parameter, twice over."""
    (kernel,) = (lower(each) for each in module.kernels)
    first = module.params[0]
    shape = tuple(size.name for size in first.of.shape)
    capability = cuda_capability("cuda:0")
    arch = "sm_90a" if capability == (9, 0) else f"sm_{capability[0]}{capability[1]}"

    def launch(source, target):
        places = dict(zip(kernel.params, (source, target), strict=False))
        args = [
            Pointer(places[p]) if p in places else Scalar(p.dtype.name, p.name)
            for p in kernel.params
        ]
        args += [
            map_of(
                each.of, places[each.tensor],
                [plan_size(e) for e in each.shape], [plan_size(e) for e in each.strides],
            )
            for each in kernel.maps
        ]  # fmt: skip
        grid = tuple(plan_size(size) for size in kernel.launch.grid)
        block = tuple(int(size.value) for size in kernel.launch.block)
        shared = kernel.launch.shared_bytes
        return Launch("unit", kernel.name, tuple(args), (source,), (target,), grid, block, shared)

    roles = ("input", "workspace", "output")
    buffers = tuple(Buffer(f"b{i}", role, "float16", shape) for i, role in enumerate(roles))
    symbols = {name: (0, axis) for axis, name in enumerate(shape)}
    plan = Plan(arch, buffers, (launch(0, 1), launch(1, 2)), (0,), (2,), symbols)
    return Archive({"main": plan}, {"unit": compile_cuda(emit([kernel]), arch=arch).cubin})


@pytest.mark.parametrize("use_graph", [True, False])
def test_a_graph_is_patched_where_maps_moved(use_graph, tmp_path):
    planned(pipeline()).save(tmp_path / "twice.hidet")
    executor = Executor(Archive.load(tmp_path / "twice.hidet"), "cuda:0", use_graph=use_graph)
    kept = []
    for rows, columns, seed in ((129, 72, 0), (129, 72, 1), (65, 200, 2), (129, 72, 3)):
        x = numbers((rows, columns), f16, seed)
        (y,) = executor([on_gpu(x)])
        kept.append((y, x * 4))
    for y, expected in kept:
        np.testing.assert_array_equal(array_of(y), expected)
