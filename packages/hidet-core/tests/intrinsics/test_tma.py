"""TMA in the simulator against the model of boxes, its calls, and its texts."""

import numpy as np
import pytest

from hidet.codegen.cuda import emit
from hidet.errors import SimulationError
from hidet.lang import attr, bf16, f8e4m3, f16, f32, i32, script, shared_tensor, u8, u32, u64
from hidet.lang.cuda import threadIdx, tma_load
from hidet.passes.pipeline import lower
from hidet.sim import Misaligned, launch
from hidet.toolchain import compile_cuda

from .box_model import OUTSIDE, box_of, indices, swizzled
from .tma_kernels import elements, images, loads, mapped, numbers, pipeline, stores, tile

LOADS = [
    # of, shape, positions, offsets
    (tile(f16, 8), (129,), [(0,), (120,), (128,), (136,), (-8,)], ()),
    (tile(f16, 16, 64, swizzle="128B"), (129, 72), [(0, 0), (128, 8), (-5, 64), (120, -8)], ()),
    (tile(f32, 7, 16, swizzle="64B"), (7, 20), [(0, 0), (1, 4), (6, 16)], ()),
    (tile(u8, 19, 32, swizzle="32B"), (2, 48), [(0, 0), (1, 32), (-18, 16)], ()),
    (tile(f8e4m3, 3, 2, 16), (5, 7, 16), [(0, 0, 0), (4, 6, 0), (3, -1, 0)], ()),
    (tile(i32, 2, 5, 4, steps=(2, 3, 1)), (7, 31, 8), [(0, 0, 0), (5, 29, 4)], ()),
    (tile(bf16, 1, 2, 3, 8), (2, 3, 1, 8), [(1, 2, 0, 0), (0, 0, -1, 0)], ()),
    (tile(u64, 1, 1, 2, 2, 2), (1, 2, 3, 2, 4), [(0, 1, 2, 1, 2), (0, 0, 0, 0, 0)], ()),
    (images(f16, 13, 8, (-1,), (-1,)), (3, 7, 8), [(0, -1, 0), (2, 5, 0)], (2,)),
    (
        images(f16, 37, 64, (-1, -1), (-1, -1), swizzle="128B"),
        (2, 5, 7, 72),
        [(0, -1, -1, 0), (1, 3, 5, 64), (1, 0, 2, 8)],
        (1, 2),
    ),
    (images(f32, 11, 4, (0, -1), (0, 0), (2, 3)), (2, 4, 5, 4), [(0, 2, 2, 0)], (0, 1)),
    (images(f16, 9, 8, (0, 0, 0), (0, 0, -1)), (2, 2, 3, 2, 8), [(1, 1, 2, 0, 0)], (0, 1, 1)),
]


def modules(module):
    """A module as written, and lowered."""
    yield module
    (kernel,) = module.kernels
    yield lower(kernel)


@pytest.mark.parametrize(("of", "shape", "positions", "offsets"), LOADS)
def test_loads(of, shape, positions, offsets):
    x = numbers(shape, of.dtype)
    expected = np.stack(
        [swizzled(of, box_of(of, x, at, offsets)).view(x.dtype) for at in positions]
    )
    for module in modules(loads(of, positions, offsets)):
        y = np.zeros((len(positions), elements(of)[0]), x.dtype)
        launch(module, x, y, **{f"n{axis}": size for axis, size in enumerate(shape)})
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(("of", "column"), [(tile(f16, 4, 8), 4), (tile(u8, 4, 16), -1)])
def test_boxes_begin_at_multiples_of_16_bytes_of_a_row(of, column):
    """As an H200 demands, which stops at others with an illegal instruction."""
    x, y = numbers((7, 16), of.dtype), np.zeros((1, elements(of)[0]), of.dtype.numpy)
    with pytest.raises(Misaligned, match=f"at byte {column * of.dtype.nbytes} of a row"):
        launch(loads(of, [(0, column)]), x, y)


def test_what_is_outside_may_be_nan():
    of = tile(bf16, 4, 8, fill="nan")
    x, y = numbers((3, 8), bf16), np.zeros((1, 32), bf16.numpy)
    launch(loads(of, [(1, 0)]), x, y)
    np.testing.assert_array_equal(np.isnan(y[0].astype(np.float32)), [False] * 16 + [True] * 16)


STORES = [
    (of, shape, [tuple(max(at, 0) for at in position) for position in positions])
    for of, shape, positions, _ in LOADS
    if of.rank == len(of.shape)
]
STORES += [(images(f16, 13, 8, (0, 0), (0, 0)), (2, 3, 4, 8), [(0, 0, 0, 0), (1, 2, 1, 0)])]


def test_stores_begin_at_no_position_below_0():
    """As an H200 demands, which stops at others with an illegal instruction."""
    of = tile(f16, 4, 8)
    boxes, y = numbers((1, elements(of)[0]), f16), numbers((7, 16), f16)
    with pytest.raises(SimulationError, match=r"a store begins at \(-1, 8\)"):
        launch(stores(of, [(-1, 8)]), boxes, y)


def put(of, y, position, box, change):
    """Store a box by the model."""
    for at, value in zip(indices(of, y.shape, position, (0, 0)), box.reshape(-1), strict=True):
        if at is not OUTSIDE:
            y[at] = change(y[at], value)


def swizzled_boxes(of, boxes):
    return np.stack([swizzled(of, box).view(boxes.dtype) for box in boxes])


@pytest.mark.parametrize(("of", "shape", "positions"), STORES)
def test_stores(of, shape, positions):
    boxes = numbers((len(positions), *of.shape), of.dtype)
    expected = numbers(shape, of.dtype, seed=1)
    y = expected.copy()
    for at, box in zip(positions, boxes, strict=True):
        put(of, expected, at, box, lambda old, new: new)
    launch(stores(of, positions), swizzled_boxes(of, boxes), y)
    np.testing.assert_array_equal(y, expected)


REDUCTIONS = [
    ("add", f32, np.add), ("add", f16, np.add), ("add", bf16, np.add), ("add", u64, np.add),
    ("min", f16, np.minimum), ("max", i32, np.maximum), ("max", bf16, np.maximum),
    ("and", u32, np.bitwise_and), ("or", i32, np.bitwise_or), ("xor", u64, np.bitwise_xor),
]  # fmt: skip


@pytest.mark.parametrize(("how", "dtype", "change"), REDUCTIONS)
def test_reductions(how, dtype, change):
    of, positions = tile(dtype, 5, 8), [(0, 0), (3, 8), (0, 0)]
    boxes = numbers((len(positions), 5, 8), dtype)
    expected = numbers((7, 16), dtype, seed=1)
    y = expected.copy()
    for at, box in zip(positions, boxes, strict=True):
        put(of, expected, at, box, change)
    launch(stores(of, positions, how), swizzled_boxes(of, boxes), y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("shape", [(1, 8), (7, 136), (64, 64), (129, 328)])
def test_a_pipeline_of_four_stages_has_nothing_to_report(shape):
    x = numbers(shape, f16)
    for module in modules(pipeline()):
        y = np.zeros_like(x)
        launch(module, x, y, m=shape[0], n=shape[1])
        np.testing.assert_array_equal(y, x * 2)


@pytest.mark.parametrize("cache", [None, "evict_last"])
@pytest.mark.parametrize(("of", "offsets"), [(tile(f16, 8, 64), ()), (LOADS[9][0], (1, 2))])
def test_loads_into_several_blocks_compile(of, offsets, cache):
    @script
    def kernel(x: f16[of.rank * (72,)]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 4
        tiles = mapped(of, x)
        box = shared_tensor(f16, elements(of)[1])
        bar = shared_tensor(u64, 1)
        if threadIdx.x == 0:
            at = of.rank * (0,)
            tma_load(box, tiles, at, bar, offsets=offsets, multicast=0xF, cache=cache)

    text = emit([lower(kernel.kernel)])
    assert ".multicast::cluster" in text
    assert compile_cuda(text, arch="sm_90a").cubin


@pytest.mark.parametrize("cache", [None, "evict_first", "evict_last", "evict_normal"])
def test_texts_compile(cache):
    built = [pipeline()]
    for of, _, positions, offsets in LOADS:
        built.append(loads(of, positions[:1], offsets, cache))
        built.append(stores(of, positions[:1], cache=cache))
    for how, dtype, _ in REDUCTIONS:
        built.append(stores(tile(dtype, 4, 16), [(0, 0)], how, cache))
    for number, module in enumerate(built):
        kernel = lower(module.kernels[0])
        text = emit([kernel])
        assert "__grid_constant__ TensorMap" in text
        if cache is None or number % 7 == 0:
            assert compile_cuda(text, arch="sm_90a").cubin
