"""What messages advise can help, and they begin where the user is."""

import traceback

import numpy as np
import pytest

import hidet
from hidet.errors import BadArgument, BadScript
from hidet.lang import attr, f32, grid, script, shared_tensor
from hidet.lang.cuda import threadIdx
from hidet.sim import OutOfBounds, Race, launch


@script
def between_blocks(x: f32[4]):
    attr.cuda_grid_dim = 2
    attr.cuda_block_dim = 4
    x[threadIdx.x] = x[threadIdx.x] + 1.0


@script
def within_a_block(x: f32[64]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 64
    tile = shared_tensor("float32", [64])
    tile[threadIdx.x] = x[threadIdx.x]
    x[threadIdx.x] = tile[63 - threadIdx.x]


@script
def between_iterations(x: f32[4], y: f32[1]):
    attr.func_kind = "cpu_kernel"
    for i in grid(4, attrs="p"):
        y[0] = y[0] + x[i]


@script
def beyond(x: f32[4]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 5
    x[threadIdx.x] = 1.0


@script
def plus_one(x: f32[7]):
    attr.cuda_grid_dim = 1
    attr.cuda_block_dim = 7
    x[threadIdx.x] = x[threadIdx.x] + 1.0


def test_a_race_between_blocks_is_not_told_to_take_a_barrier():
    with pytest.raises(Race) as error:
        launch(between_blocks, np.zeros(4, np.float32))
    for word in ("atomic", "grid", "second launch"):
        assert word in error.value.help
    assert "put a barrier" not in error.value.help


def test_a_race_within_a_block_is():
    with pytest.raises(Race) as error:
        launch(within_a_block, np.zeros(64, np.float32))
    assert "put a barrier" in error.value.help


def test_iterations_of_a_parallel_loop_have_no_barrier():
    with pytest.raises(Race) as error:
        launch(between_iterations, np.zeros(4, np.float32), np.zeros(1, np.float32))
    assert "iteration" in error.value.help
    assert "barrier" not in error.value.help


def test_out_of_bounds_names_guards():
    with pytest.raises(OutOfBounds) as error:
        launch(beyond, np.zeros(4, np.float32))
    for word in ("if", "get", "put"):
        assert word in error.value.help


def test_a_traceback_ends_where_the_user_launched():
    try:
        launch(beyond, np.zeros(4, np.float32))
    except OutOfBounds as error:
        frames = [each.name for each in traceback.extract_tb(error.__traceback__)]
    assert frames == ["test_a_traceback_ends_where_the_user_launched", "launch"]


@pytest.mark.parametrize("make", [hidet.asarray, lambda x: hidet.asarray(x).numpy()])
def test_tensors_of_other_libraries(make):
    given = make(np.zeros(7, np.float32))
    launch(plus_one, given)
    np.testing.assert_array_equal(np.asarray(given), np.ones(7, np.float32))


class Elsewhere:
    """A tensor of a GPU."""

    def __dlpack__(self, **how):
        raise NotImplementedError


def test_a_tensor_of_a_gpu_is_refused(monkeypatch):
    view = hidet.runtime.View(0, (7,), "float32", "cuda:0")
    monkeypatch.setattr("hidet.sim.arguments.view_of_dlpack", lambda value: (view, False, True))
    with pytest.raises(BadArgument, match="on cuda:0 cannot be simulated"):
        launch(plus_one, Elsewhere())


def test_gaps_are_refused(monkeypatch):
    view = hidet.runtime.View(0, (7,), "float32", "cpu")
    monkeypatch.setattr("hidet.sim.arguments.view_of_dlpack", lambda value: (view, True, True))
    with pytest.raises(BadArgument, match="gaps"):
        launch(plus_one, Elsewhere())


def test_a_function_of_numpy_names_ours():
    with pytest.raises(BadScript, match="numpy's sin takes no element") as error:

        @script
        def wave(x: f32[4]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 4
            x[threadIdx.x] = np.sin(x[threadIdx.x])

    assert error.value.help == "use hidet.lang.sin"
