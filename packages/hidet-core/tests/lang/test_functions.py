"""Script functions that call one another, and Python functions run while transcribing."""

import math
from dataclasses import dataclass
from textwrap import dedent

import numpy as np
import pytest

from hidet.errors import BadScript, DtypeMismatch, ShapeMismatch
from hidet.lang import attr, exp, f16, f32, i32, max, register_tensor, script, spatial, static
from hidet.lang.cuda import threadIdx
from hidet.sim import launch


def body(function) -> str:
    return dedent("\n".join(str(function.kernel).splitlines()[2:]))


@script
def clamped(x: f32, low: f32, high):
    if x < low:
        x = low
    return min(x, high)


@script
def fill(row: ~f32, count, value: f32):
    for i in range(count):
        row[i] = value


def test_script_functions_are_written_where_they_are_called():
    @script
    def kernel(a: f32[8, 8], h: f16):
        attr.cuda_block_dim = 32
        x = clamped(h, 0, 6)
        fill(~a[1, 0], 8, x)
        fill(a, count=4, value=clamped(x, 0, x))

    assert body(kernel) == dedent("""\
        x: f32 = f32(h)
        low: f32 = 0.0
        if (x < low):
          x = low
        x_1: f32 = min(x, 6.0)
        value: f32 = x_1
        for i in 8:
          &a[1, 0][i] = value
        x_2: f32 = x_1
        low_1: f32 = 0.0
        high: f32 = x_1
        if (x_2 < low_1):
          x_2 = low_1
        value_1: f32 = min(x_2, high)
        for i_1 in 4:
          &a[0, 0][i_1] = value_1""")


def test_statements_of_a_called_function_say_who_called():
    @script
    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        fill(a, 8, 1)

    [_, loop] = kernel.kernel.body
    assert loop.place.function == "fill"
    assert loop.place.called_from.function == "kernel"
    assert loop.place.called_from.line == kernel.kernel.place.line + 2


def test_arguments_have_the_types_of_parameters():
    @script
    def first(t: f32[4, 4]):
        t[0, 0] = 1

    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        first(a)

    with pytest.raises(
        ShapeMismatch, match=r"`t` is f32\[4, 4\], the argument is `a` \(f32\[8\]\)"
    ):
        script(kernel)

    def other(a: i32[4, 4]):
        attr.cuda_block_dim = 32
        first(a)

    with pytest.raises(DtypeMismatch, match=r"`t` is f32\[4, 4\], the argument is `a`"):
        script(other)


@dataclass(frozen=True)
class Tile:
    rows: int
    columns: int

    @property
    def size(self):
        return self.rows * self.columns


def relu(x):
    return max(x, 0.0)


def test_python_values_are_known():
    tile, steps, activations = Tile(2, 4), {"a": 1, "b": 2}, [relu, exp, lambda x: x * 2.0]

    @script
    def kernel(a: f32[tile.size, len(steps)], n: i32):
        attr.cuda_block_dim = tile.size
        offsets = [step + 1 for step in steps.values() if step > 1]
        scale = math.sqrt(16) if tile.rows == 2 else undefined  # noqa: F821
        square = lambda v: v * v
        a[offsets[0], 0] = scale + square(n) + sum(i for i in range(3))
        for activation in static(activations):
            a[0, 0] = activation(a[0, 0])
        a[1, 1] = math.exp(a[0, 0]) ** 2 + max(n, 3, tile.rows)
        assert f"{tile.rows:>2}" == " 2"

    assert body(kernel) == dedent("""\
        a[3, 0] = ((4.0 + f32((n * n))) + 3.0)
        a[0, 0] = max(a[0, 0], 0.0)
        a[0, 0] = exp(a[0, 0])
        a[0, 0] = (a[0, 0] * 2.0)
        a[1, 1] = ((exp(a[0, 0]) * exp(a[0, 0])) + f32(max(max(n, 3), 2)))""")


def test_distributed_registers_go_where_script_functions_go():
    mine = spatial(32)

    @script
    def double(sums, lane):
        sums[lane] *= 2

    @script
    def kernel(a: f32[32]):
        attr.cuda_block_dim = 32
        sums = register_tensor(f32, mine, init=1)
        for lane in mine.on(threadIdx.x):
            double(sums, lane)
            a[lane] = sums[lane]

    assert "sums[0] = (sums[0] * 2.0)" in body(kernel)


def test_a_function_without_attributes_is_no_kernel():
    with pytest.raises(BadScript, match="`clamped` is no kernel"):
        _ = clamped.kernel
    with pytest.raises(BadScript, match="called outside of a script"):
        clamped(1.0, 2.0, 3.0)


def test_pointers_taken_in_write_where_they_point():
    @script
    def kernel(a: f32[3, 4], n: i32):
        attr.cuda_block_dim = 1
        fill(~a[n, 1], 2, 7)

    a = np.zeros((3, 4), np.float32)
    launch(kernel.ir_module(), a, 1)
    np.testing.assert_array_equal(a[1], [0, 7, 7, 0])
    assert a.sum() == 14
