"""Definitions without reductions: any size, 16 bytes at a time where there are many elements."""

import pytest

from hidet import ops
from hidet.types import bf16, f8e4m3, f8e5m2, f16, f32, i8

SHAPES = [(1,), (7,), (33, 129), (1031, 263), (300007,), (3, 5, 18013)]


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_size(made, of, shape):
    made(lambda x: x * 2.0 + 1.0, of[shape]).check()
    made(lambda x, y: ops.relu(x + y), of[shape], of[shape[-1:]]).check()


@pytest.mark.parametrize(
    ("function", "types"),
    [
        (lambda x: x * 2.0, (f16[4096, 4096],)),
        (lambda x: x * 2.0, (f16[4096, 4097],)),
        (lambda x: x * 2.0, (f16[16777259],)),
        (lambda x, y: x + y, (f16[4096, 4096], f16[4096])),
        (lambda x, y: x + y, (f16[4096, 4097], f16[4097])),
    ],
)
def test_many_elements_are_moved_sixteen_bytes_at_a_time(made, function, types):
    text, usage = made(function, *types).build()
    assert "load_lasting<f16, 8>(&x0[" in text
    assert "store(&out0[" in text
    assert [each.spill_bytes for each in usage.values()] == [0]


@pytest.mark.parametrize("narrow", [f8e4m3, f8e5m2], ids=str)
def test_a_type_of_no_tensor_has_its_header(made, narrow):
    """Rounded to eight bits on the way: nothing in memory is of that type."""
    text, _ = made(lambda x: ops.cast(ops.cast(x, narrow), f32), bf16[17]).build()
    assert "#include <cuda_fp8.h>" in text


def test_elements_that_are_no_neighbours_across_rows(made):
    made(lambda x: ops.cast(x[:, 1:], f32) * 2.0, f16[515, 514]).check()
    made(lambda x: ops.maximum(x, x), i8[700, 301]).check(-100, 100)


@pytest.mark.parametrize(
    ("function", "iterations"),
    [(ops.relu, 1), (ops.gelu, 2), (lambda x: ops.gelu(ops.tanh(x) * x), 2)],
)
@pytest.mark.parametrize("of", [f16, f32], ids=str)
def test_threads_take_more_where_functions_take_time(made, of, function, iterations):
    (kernel,) = made(function, of[16384, 4096]).module.kernels
    lanes = 16 // of.nbytes
    assert int(kernel.launch.grid[0].value) == 16384 * 4096 // (256 * lanes * iterations)
