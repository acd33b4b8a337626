# ruff: noqa: F841
"""The mistakes that authors of scripts make most: the whole text of each error.

What is shown is the user's own line, with the caret under what is wrong in it.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import hidet
from hidet.errors import HidetError
from hidet.lang import attr, f32, i32, script, shared_tensor, spatial, sqrt
from hidet.lang.cuda import threadIdx

n = 8


@dataclass(frozen=True)
class Tile:
    rows: int = 4


tile = Tile()


@script
def halved(x: f32):
    y = x / 2


@script
def whole(x: f32) -> i32:
    return x / 2


@script
def first(x: f32[4]):
    return x[0]


def built(kernel, target="sm_90a"):
    return hidet.driver.build_ir_module(kernel.ir_module(), target=target)


def missing_annotation():
    @script
    def kernel(a, b: f32[n]):
        attr.cuda_block_dim = 32


def wrong_dtype():
    @script
    def kernel(a: f32[n], b: i32[n]):
        attr.cuda_block_dim = 32
        b[threadIdx.x] = a[threadIdx.x]


def unknown_name():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        a[theadIdx.x] = 0.0  # noqa: F821


def and_on_tensors():
    @script
    def kernel(a: f32[n], b: f32[n]):
        attr.cuda_block_dim = 32
        if a[0] > 0 and b:
            a[0] = 0.0


def arithmetic_on_tensors():
    @script
    def kernel(a: f32[n], b: f32[n]):
        attr.cuda_block_dim = 32
        a[0] = a + b


def function_of_a_tensor():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        a[0] = sqrt(a)


def too_few_indices():
    @script
    def kernel(a: f32[n, n], b: f32[n]):
        attr.cuda_block_dim = 32
        b[0] = a[0]


def shape_mismatch():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        a[0] = first(a)


def too_many_threads():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = (64, 32)


def too_much_shared_memory():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        staged = shared_tensor(f32, (256, 256))
        staged[0, 0] = a[0]
        a[0] = staged[0, 0]

    built(kernel)


def too_much_dynamic_shared_memory():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        attr.cuda_dynamic_smem_bytes = 300_000


def tile_size_not_constant():
    @script
    def kernel(a: f32[n], size: i32):
        attr.cuda_block_dim = 32
        staged = shared_tensor(f32, (size, 16))


def mapping_not_constant():
    @script
    def kernel(a: f32[n], size: i32):
        attr.cuda_block_dim = 32
        for i in spatial(size).on(threadIdx.x):
            a[i] = 0.0


def missing_return():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        a[0] = halved(a[0])


def wrong_return_type():
    @script
    def kernel(a: i32[n], b: f32[n]):
        attr.cuda_block_dim = 32
        a[0] = whole(b[0])


def kernel_that_returns():
    @script
    def kernel(a: f32[n]) -> f32:
        attr.cuda_block_dim = 32
        return a[0]


def assignment_to_a_constant():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        n += 1  # noqa: F823


def assignment_to_a_constant_of_a_struct():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        tile.rows = 5


def assignment_to_a_parameter():
    @script
    def kernel(a: f32[n], count: i32):
        attr.cuda_block_dim = 32
        count = 3


EXPECTED = {
    missing_annotation: """\
        error[bad-script]: parameter `a` has no type
          --> {here}:3:16 in kernel
                def kernel(a, b: f32[n]):
                           ^
          help: write one, as `a: f32[m, n]` or `a: i32`""",
    wrong_dtype: """\
        error[dtype-mismatch]: the element is i32, the value `a[threadIdx.x]` (f32) is not
          --> {here}:5:26 in kernel
                    b[threadIdx.x] = a[threadIdx.x]
                                     ^^^^^^^^^^^^^^
          help: convert it by `i32(...)`""",
    unknown_name: """\
        error[bad-script]: there is no name `theadIdx`
          --> {here}:5:11 in kernel
                    a[theadIdx.x] = 0.0  # noqa: F821
                      ^^^^^^^^
          help: did you mean `threadIdx`?""",
    and_on_tensors: """\
        error[bad-script]: an operand of `and` is `b` (f32[8]), not a number
          --> {here}:5:25 in kernel
                    if a[0] > 0 and b:
                                    ^
          help: index it first""",
    arithmetic_on_tensors: """\
        error[bad-script]: `a` (f32[8]) is not a number
          --> {here}:5:16 in kernel
                    a[0] = a + b
                           ^^^^^
          help: index it first""",
    function_of_a_tensor: """\
        error[bad-script]: an operand of sqrt() is `a` (f32[8]), not a number
          --> {here}:5:16 in kernel
                    a[0] = sqrt(a)
                           ^^^^^^^
          help: index it first""",
    too_few_indices: """\
        error[bad-script]: `a` has 2 dimensions, the index has 1
          --> {here}:5:16 in kernel
                    b[0] = a[0]
                           ^^^^
          help: give one index for each dimension""",
    shape_mismatch: """\
        error[shape-mismatch]: `x` is f32[4], the argument is `a` (f32[8])
          --> {here}:5:16 in kernel
                    a[0] = first(a)
                           ^^^^^^^^""",
    too_many_threads: """\
        error[bad-script]: a block has at most 1024 threads, not 2048
          --> {here}:4:31 in kernel
                    attr.cuda_block_dim = (64, 32)
                                          ^^^^^^^^
          help: let each thread do more, or launch more blocks""",
    too_much_shared_memory: """\
        error[bad-kernel]: kernel: a block needs 262144 bytes of shared memory; sm_90a has 232448
          --> {here}:5:18 in kernel
                    staged = shared_tensor(f32, (256, 256))
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: make the tiles smaller, or use fewer stages""",
    too_much_dynamic_shared_memory: """\
        error[bad-script]: no GPU has 300000 bytes of shared memory for a block; the most is 232448
          --> {here}:5:40 in kernel
                    attr.cuda_dynamic_smem_bytes = 300_000
                                                   ^^^^^^^
          help: make the tiles smaller, or use fewer stages""",
    tile_size_not_constant: """\
        error[bad-script]: a size of a shared tensor is a positive integer, not `size` (i32)
          --> {here}:5:18 in kernel
                    staged = shared_tensor(f32, (size, 16))
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: its size must be known before the kernel runs""",
    mapping_not_constant: """\
        error[bad-argument]: a mapping's extents are positive integers, not size
          --> {here}:5:18 in kernel
                    for i in spatial(size).on(threadIdx.x):
                             ^^^^^^^^^^^^^
          help: map a tile of fixed size and loop over the tiles""",
    missing_return: """\
        error[bad-script]: `halved` returns nothing, and its value is used
          --> {here}:5:16 in kernel
                    a[0] = halved(a[0])
                           ^^^^^^^^^^^^
          help: end it with `return`, or call it as a statement of its own""",
    wrong_return_type: """\
        error[dtype-mismatch]: the result is i32, the value `(x / 2.0)` (f32) is not
          --> {whole}:3:12 in whole
                return x / 2
                       ^^^^^
          called from
          --> {here}:5:16 in kernel
                    a[0] = whole(b[0])
                           ^^^^^^^^^^^
          help: convert it by `i32(...)`""",
    kernel_that_returns: """\
        error[bad-script]: a kernel returns nothing
          --> {here}:3:30 in kernel
                def kernel(a: f32[n]) -> f32:
                                         ^^^
          help: write results to tensor parameters""",
    assignment_to_a_constant: """\
        error[bad-script]: `n` is a constant from outside of the script, which assigns it
          --> {here}:5:9 in kernel
                    n += 1  # noqa: F823
                    ^
          help: assign to another name: a name that is assigned is local everywhere""",
    assignment_to_a_constant_of_a_struct: """\
        error[bad-script]: a script does not assign attributes of a Tile
          --> {here}:5:9 in kernel
                    tile.rows = 5
                    ^^^^^^^^^
          help: values from outside are constants; keep what changes in a variable or tensor""",
    assignment_to_a_parameter: """\
        error[bad-script]: `count` is a parameter and cannot be assigned
          --> {here}:5:9 in kernel
                    count = 3
                    ^^^^^
          help: assign to another name""",
}


@pytest.mark.parametrize("mistake", EXPECTED, ids=lambda mistake: mistake.__name__)
def test_the_text_of_a_mistake(mistake, says):
    says(mistake, EXPECTED[mistake], whole)


def test_what_is_right_beside_what_is_wrong():
    """A struct of constants, and a function whose result has the type that is written."""

    @script
    def half(x: f32) -> f32:
        return x / tile.rows

    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        if threadIdx.x < tile.rows:
            a[threadIdx.x] = half(a[threadIdx.x])

    values = np.ones(n, np.float32)
    built(kernel, "sim")(values)
    assert values.tolist() == [0.25] * 4 + [1.0] * 4


def test_a_type_that_is_written_and_no_return():
    @script
    def nothing(x: f32) -> f32:
        y = x

    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32
        nothing(a[0])

    with pytest.raises(HidetError, match="`nothing` returns f32 and does not end with `return`"):
        script(kernel)
