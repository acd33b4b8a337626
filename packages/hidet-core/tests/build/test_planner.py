"""Launches as data: tensor maps name the buffer and sizes that the launch has at run time."""

import numpy as np

from hidet.build.launches import sized
from hidet.build.planning import effects
from hidet.build.planning.recipe import launch as launch_of
from hidet.build.reports.record import lowered
from hidet.ir.expr import Var
from hidet.lang import attr, f16, i32, script, shared_tensor
from hidet.lang.cuda import tensor_map, tma_reduce, tma_store
from hidet.runtime import Map, Pointer
from hidet.types import Tile

M, N = Var("m", i32), Var("n", i32)


@script
def spread(x: f16[M, N], y: f16[M, 3, N], z: f16[N]):
    attr.cuda_grid_dim = M
    attr.cuda_block_dim = 32
    tile = shared_tensor(f16, (8, 8))
    into = tensor_map(y, (1, 8, 8))
    onto = tensor_map(z, (8,))
    tensor_map(x, (8, 8))
    tma_store(into, (0, 0, 0), tile)
    tma_reduce(onto, 0, tile)


FORM = "none", "128B", "zeros"


def test_what_the_copy_engine_writes_is_written():
    kernel = lowered(spread.kernel, "spread")
    written = {var.name: read for var, read in effects.written(kernel).items()}
    assert written == {"y": False, "z": True}


def test_a_plan_has_maps_after_all_other_arguments():
    made = launch_of(lowered(spread.kernel, "spread"), [0, 1, 2])
    launch = made.on([5, 6, 7].__getitem__)
    assert launch.args == (
        Pointer(5),
        Pointer(6),
        Pointer(7),
        *launch.args[3:-3],
        Map(6, "float16", Tile((1, 8, 8), (1, 1, 1)), *FORM, ("m", 3, "n"), (["*", 3, "n"], "n")),
        Map(7, "float16", Tile((8,), (1,)), *FORM, ("n",), ()),
        Map(5, "float16", Tile((8, 8), (1, 1)), *FORM, ("m", "n"), ("n",)),
    )
    assert (launch.reads, launch.writes) == ((5, 7), (6, 7))


def test_a_call_has_maps_of_what_is_passed():
    module = spread.ir_module()
    kernels = {"spread": lowered(spread.kernel, "spread")}
    shapes = dict(zip(module.params, ((4, 16), (4, 3, 16), (16,)), strict=True))
    (launch,) = sized(module, kernels, shapes).launches
    maps = [arg for arg in launch.args if isinstance(arg, Map)]
    assert [(map.buffer, map.shape, map.strides) for map in maps] == [
        (1, (4, 3, 16), (48, 16)),
        (2, (16,), ()),
        (0, (4, 16), (16,)),
    ]
    assert all(isinstance(size, int) and not isinstance(size, np.generic) for size in maps[0].shape)


def test_no_blocks_need_no_maps():
    module = spread.ir_module()
    kernels = {"spread": lowered(spread.kernel, "spread")}
    shapes = dict(zip(module.params, ((0, 16), (0, 3, 16), (16,)), strict=True))
    assert sized(module, kernels, shapes).launches == ()
