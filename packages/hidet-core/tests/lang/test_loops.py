"""Each kind of loop, and the IR it becomes."""

from textwrap import dedent

import pytest

from hidet.errors import BadScript
from hidet.lang import (
    attr,
    f16,
    f32,
    grid,
    i32,
    parallel,
    repeat,
    script,
    spatial,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import threadIdx
from hidet.passes.pipeline import lower


def body(function) -> str:
    """The text of the kernel's body."""
    lines = str(function.kernel).splitlines()
    start = 1 if function.kernel.kind == "cpu" else 2
    return dedent("\n".join(lines[start:]))


def test_ranges():
    @script
    def kernel(a: f32[100], n: i32):
        attr.cuda_block_dim = 32
        for i in range(2, n):
            a[i] = i
        for i in range(threadIdx.x, n, 32):
            a[i] = i
        for i in range(9, -1, -3):
            a[i] = i
        for i in range(n, unroll=True):
            a[i] = i

    assert body(kernel) == dedent("""\
        for i in (n - 2):
          a[(2 + i)] = f32((2 + i))
        for i_1 in (((n - threadIdx.x) + 31) // 32):
          a[(threadIdx.x + (i_1 * 32))] = f32((threadIdx.x + (i_1 * 32)))
        for i_2 in 4:
          a[(9 + (i_2 * -3))] = f32((9 + (i_2 * -3)))
        for i_3 in n:  # unroll
          a[i_3] = f32(i_3)""")


def test_a_range_keeps_the_bounds_it_began_with():
    @script
    def kernel(a: f32[100], n: i32):
        attr.cuda_block_dim = 32
        stop = n
        for _ in range(stop):
            stop += 1
        a[0] = stop

    assert body(kernel) == dedent("""\
        stop: i32 = n
        bound: i32 = stop
        for _ in bound:
          stop = (stop + 1)
        a[0] = f32(stop)""")


def test_hints_and_grids():
    @script
    def kernel(a: f32[4, 8]):
        attr.func_kind = "cpu_kernel"
        for i in parallel(4):
            for j in vectorize(8):
                a[i, j] = 0
        for i, j in grid(4, 8):
            a[i, j] += 1
        for i in unroll(0, 4, 2):
            a[i, 0] = 2
        for index in unroll(grid(2, 2)):
            a[index] = 3

    assert body(kernel) == dedent("""\
        for i in 4:  # parallel
          for j in 8:  # vector
            a[i, j] = 0.0
        for i_1 in 4:
          for j_1 in 8:
            a[i_1, j_1] = (a[i_1, j_1] + 1.0)
        for i_2 in 2:  # unroll
          a[(i_2 * 2), 0] = 2.0
        for index in 2:  # unroll
          for index_1 in 2:  # unroll
            a[index, index_1] = 3.0""")


def test_static_loops_are_written_out():
    offsets = {"left": 1, "right": 2}

    @script
    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        for at, (name, offset) in static(enumerate(offsets.items())):
            if name == "right":
                a[at] = offset
            else:
                a[at] = -offset

    assert body(kernel) == "a[0] = -1.0\na[1] = 2.0"


def test_a_name_in_a_static_loop_is_another_variable_in_each_iteration():
    @script
    def kernel(a: f16[256], c: f16[256]):
        attr.cuda_block_dim = 32
        for part in static(range(2)):
            column = part * 128 + threadIdx.x * 4
            for v in vectorize(4):
                c[column + v] = a[column + v]

    names = [f"column{number}: i32" for number in ("", "_1")]
    assert all(name in body(kernel) for name in names)
    # What is known of each, that it is a multiple of four, makes vectors.
    lowered = str(lower(kernel.kernel))
    assert lowered.count("c[column") == 2
    assert lowered.count("f16x4 = a[") == 2


def test_while_break_continue_pass():
    @script
    def kernel(a: f32[8], n: i32):
        attr.cuda_block_dim = 32
        i = 0
        while i < n:
            i += 1
            if a[i] > 3:
                continue
            pass
            if a[i] < 0:
                break
        while True:
            break
        while False:
            a[0] = 9

    assert body(kernel) == dedent("""\
        i: i32 = 0
        while (i < n):
          i = (i + 1)
          if (3.0 < a[i]):
            continue
          if (a[i] < 0.0):
            break
        while True:
          break""")


def test_tasks():
    @script
    def kernel(a: f32[8, 4]):
        attr.cuda_block_dim = 16
        for i, j in (spatial(4, 4) * repeat(2, 1)).on(threadIdx.x):
            a[i, j] = 0

    assert body(kernel) == dedent("""\
        for i, j in spatial(4, 4) * repeat(2, 1) on threadIdx.x:
          a[i, j] = 0.0""")


@pytest.mark.parametrize("loop", [unroll(4), unroll(4, 2)])
def test_a_loop_of_a_script_runs_nowhere_else(loop):
    with pytest.raises(BadScript, match="outside of a script"):
        list(loop)
