"""Reductions along the innermost axis, of rows of every length."""

import pytest

from hidet import ops
from hidet.target import Target
from hidet.types import bf16, f16, f32

SHAPES = [(1, 1), (2, 7), (33, 129), (3, 2048), (2, 5003), (2, 8200), (1, 20000), (5, 1), (130, 12)]


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_of_any_length(made, of, shape):
    made(lambda x: ops.softmax(x, -1), of[shape]).check()
    made(lambda x: ops.relu(ops.layer_norm(x)), of[shape]).check()
    made(lambda x: ops.sum(x, (1,)), of[shape]).check()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_places(made, shape):
    made(lambda x: ops.argmax(x, -1), f32[shape]).check()


@pytest.mark.parametrize(
    "shape", [(65536, 1024), (16384, 4096), (1024, 32768), (1024, 65536)], ids=str
)
def test_rows_are_read_once(made, shape):
    text, usage = made(lambda x: ops.softmax(x, -1), f16[shape]).build()
    (used,) = usage.values()
    threads = 32 if shape[1] <= 1024 else max(256, shape[1] // 64)
    assert text.count("load<f16, 8>(&x0[") <= shape[1] // threads // 8
    assert used.spill_bytes <= 16
    assert text.count(" / total1") == 0 or "1.0f / total1" in text


@pytest.mark.parametrize(
    "of", [f16[1, 33001], f32[1, 65521], f16[1025, 261], f32[1025, 261]], ids=str
)
def test_rows_of_which_the_rest_is_in_shared_memory(made, of):
    softmax = made(lambda x: ops.softmax(x, -1), of)
    assert "in_shared0" in str(softmax.module.kernels[0])
    softmax.check()


@pytest.mark.parametrize(
    ("of", "threads"), [(f32[16, 65536], 256), (f16[64, 131072], 512)], ids=str
)
def test_long_rows_are_in_the_registers_of_a_cluster(made, of, threads):
    norm = made(lambda x: ops.layer_norm(x), of)
    (kernel,) = norm.module.kernels
    assert kernel.launch.cluster == (8, 1, 1)
    assert int(kernel.launch.block[0].value) == threads
    text, usage = norm.build()
    assert "in_shared0" not in text
    assert [each.spill_bytes for each in usage.values()] == [0]


@pytest.mark.parametrize("of", [f32[2, 40000], f16[2, 65521], f32[1, 33001]], ids=str)
def test_rows_of_a_cluster(made, of):
    softmax = made(lambda x: ops.softmax(x, -1), of)
    assert softmax.module.kernels[0].launch.cluster[0] > 1
    softmax.check()
    made(lambda x: ops.layer_norm(x), of).check()


def test_a_row_is_one_blocks_where_another_block_has_room(made):
    norm = made(lambda x: ops.layer_norm(x), f16[64, 65536])
    assert norm.module.kernels[0].launch.cluster == (1, 1, 1)
    softmax = made(lambda x: ops.softmax(x, -1), f16[64, 65536])
    assert softmax.module.kernels[0].launch.cluster == (8, 1, 1)


def test_long_rows_without_clusters(made):
    norm = made(lambda x: ops.layer_norm(x), f16[1024, 65536], target=Target.parse("sm_80"))
    text, usage = norm.build("sm_80")
    assert "in_shared0" in text
    assert [each.spill_bytes for each in usage.values()] == [0]


def test_other_element_types_of_operand_and_result(made):
    made(lambda x: ops.cast(ops.softmax(ops.cast(x, f32), -1), bf16), f16[5, 264]).check(factor=128)
    made(lambda x: ops.cast(ops.layer_norm(x), f32), f16[5, 264]).check(factor=1 << 14)


def test_operands_along_the_row_too(made):
    norm = made(lambda x, y, w: ops.rms_norm(x + y, w), f16[7, 1032], f16[7, 1032], f16[1032])
    norm.check()


@pytest.mark.parametrize("of", [f32[3, 4096], f32[2, 4092], f16[2, 8192], f16[3, 7000]], ids=str)
def test_so_many_rows_are_under_way_as_memory_takes_best(made, of):
    weights = of.dtype[of.shape[1:]]
    norm = made(lambda x, w, b: ops.layer_norm(x, w, b), of, weights, weights)
    (kernel,) = norm.module.kernels
    assert (kernel.launch.min_blocks, kernel.launch.max_blocks) == (4, 4)
    narrow = of.dtype is f16  # computed in float32: a row takes all registers
    assert [var.name for var in kernel.early] == ([] if narrow else ["x1", "x2"])
    norm.check(factor=64)
    norm.check(factor=64, lowered=True)
    _, usage = norm.build()
    assert [each.spill_bytes for each in usage.values()] == [0]


@pytest.mark.parametrize("of", [f32[4, 2048], f32[4, 8192], f16[4, 4096], f32[4, 512]], ids=str)
def test_as_many_blocks_as_fit_where_rows_are_short_or_long(made, of):
    (kernel,) = made(lambda x: ops.layer_norm(x), of).module.kernels
    assert kernel.launch.max_blocks == 0
    assert kernel.early == ()


def test_weights_are_loaded_ahead_of_the_barriers(made):
    norm = made(lambda x, w: ops.rms_norm(x, w), f32[3, 4096], f32[4096])
    text, _ = norm.build()
    assert "float *x1, float *out0" in text
    assert "const float *__restrict__ x0" in text
    assert text.rindex("&x1[") < text.index("__syncthreads")


def test_only_what_is_read_once_by_a_kernel_that_writes_little_leaves_caches_alone(made):
    def once(function, *types):
        return [var.name for var in made(function, *types).module.kernels[0].once]

    assert once(lambda x, w: ops.sum(x * w, (1,)), f32[64, 4096], f32[4096]) == ["x0"]
    assert once(lambda x: ops.layer_norm(x), f32[64, 4096]) == []
    assert once(lambda x: ops.sum(x, (1,)), f32[1024, 65536]) == []
    weighted = made(lambda x, w: ops.sum(x * w, (1,)), f32[3, 4096], f32[4096])
    text, _ = weighted.build()
    assert "load_once<float, 4>(&x0[" in text
    assert "load<float, 4>(&x1[" in text
    weighted.check(lowered=True)
