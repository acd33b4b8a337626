"""The mistakes that callers of kernels make, and host functions: the whole text of each error.

What is shown is the parameter that an argument does not fit, or the line that launches.
"""

import numpy as np
import pytest

import hidet
from hidet.lang import attr, f32, i32, script

n = 8
size = hidet.symbol_var("size")


def built(kernel, target="sim"):
    return hidet.driver.build_ir_module(kernel.ir_module(), target=target)


def wrong_dtype_of_an_argument():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32

    built(kernel, "sim")(np.zeros(n))


def shape_mismatch_of_an_argument():
    @script
    def kernel(a: f32[n, n]):
        attr.cuda_block_dim = 32

    built(kernel, "sim")(np.zeros((n, 4), np.float32))


def a_list_for_a_tensor():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32

    built(kernel, "sim")([1.0] * n)


def a_number_that_does_not_fit():
    @script
    def kernel(a: f32[n], count: i32):
        attr.cuda_block_dim = 32

    built(kernel, "sim")(np.zeros(n, np.float32), 1.5)


def a_tensor_with_gaps():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32

    built(kernel, "sim")(np.zeros(2 * n, np.float32)[::2])


def too_few_arguments():
    @script
    def kernel(a: f32[n], b: f32[n]):
        attr.cuda_block_dim = 32

    built(kernel, "sim")(np.zeros(n, np.float32))


def sizes_that_contradict_each_other():
    @script
    def kernel(a: f32[size], b: f32[size]):
        attr.cuda_block_dim = 32

    built(kernel, "sim")(np.zeros(4, np.float32), np.zeros(5, np.float32))


def launch_that_depends_on_a_tensor():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32

    @script
    def host(a: f32[n]):
        attr.func_kind = "public"
        if a[0] > 0:
            kernel(a)


def launch_on_another_shape():
    @script
    def kernel(a: f32[n]):
        attr.cuda_block_dim = 32

    @script
    def host(a: f32[4]):
        attr.func_kind = "public"
        kernel(a)


EXPECTED = {
    wrong_dtype_of_an_argument: """\
        error[dtype-mismatch]: a is f32[8]; the argument holds float64
          --> {here}:3:16 in kernel
                def kernel(a: f32[n]):
                           ^^^^^^^^^
          help: convert it to float32, or declare a otherwise""",
    shape_mismatch_of_an_argument: """\
        error[shape-mismatch]: a is f32[8, 8]; the array has shape (8, 4)
          --> {here}:3:16 in kernel
                def kernel(a: f32[n, n]):
                           ^^^^^^^^^^^^""",
    a_list_for_a_tensor: """\
        error[bad-argument]: a is f32[8]; list is no tensor
          --> {here}:3:16 in kernel
                def kernel(a: f32[n]):
                           ^^^^^^^^^""",
    a_number_that_does_not_fit: """\
        error[dtype-mismatch]: count is i32; 1.5 is no whole number
          --> {here}:3:27 in kernel
                def kernel(a: f32[n], count: i32):
                                      ^^^^^^^^^^""",
    a_tensor_with_gaps: """\
        error[bad-argument]: a has gaps
          --> {here}:3:16 in kernel
                def kernel(a: f32[n]):
                           ^^^^^^^^^
          help: pass its contiguous() copy""",
    too_few_arguments: """\
        error[bad-argument]: kernel takes (a, b); arguments given: 1
          --> {here}:3:5 in kernel
                def kernel(a: f32[n], b: f32[n]):
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^""",
    sizes_that_contradict_each_other: """\
        error[shape-mismatch]: b is f32[size]; the array has shape (5,)
          --> {here}:3:30 in kernel
                def kernel(a: f32[size], b: f32[size]):
                                         ^^^^^^^^^^^^
          help: size is 4 for what was passed before it""",
    launch_that_depends_on_a_tensor: """\
        error[bad-script]: what kernels are launched cannot depend on `a[0]`: a host function \
knows sizes and numbers
          --> {here}:9:9 in host
                    if a[0] > 0:
                    ^^^^^^^^^^^^
          help: decide it in a kernel, or let the caller pass the number""",
    launch_on_another_shape: """\
        error[shape-mismatch]: `a` is f32[8], the argument is `a` (f32[4])
          --> {here}:9:9 in host
                    kernel(a)
                    ^^^^^^^^^""",
}


@pytest.mark.parametrize("mistake", EXPECTED, ids=lambda mistake: mistake.__name__)
def test_the_text_of_a_mistake(mistake, says):
    says(mistake, EXPECTED[mistake])
