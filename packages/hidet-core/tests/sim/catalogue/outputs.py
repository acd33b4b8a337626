"""Writes to what the kernel was not given to write."""

from catalogue.case import mistake, ramp, same
from hidet.ir.expr import Var
from hidet.lang import attr, f32, i32, script
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.sim import OutOfBounds, WriteToInput

N = Var("n", i32)
KIND = "writes outside the declared output"


@mistake(KIND, OutOfBounds, ramp(5, 33), expected=same)
def a_row_written_as_if_it_were_padded(right):
    """Rows of 33 in tiles of 48: behind a row comes the next, behind the last nothing of ours."""

    @script
    def kernel(x: f32[5, 33], y: f32[5, 33]):
        attr.cuda_grid_dim = 5
        attr.cuda_block_dim = 48
        if right:
            y.put(blockIdx.x, threadIdx.x, x.get(blockIdx.x, threadIdx.x))
        else:
            y[blockIdx.x, threadIdx.x] = x.get(blockIdx.x, threadIdx.x)  # wrong

    return kernel


@mistake(KIND, OutOfBounds, ramp(7), expected=lambda x: x.sum(keepdims=True))
def one_result_for_each_block(right):
    """The output has an element for the grid, not for the block."""

    @script
    def kernel(x: f32[7], y: f32[1]):
        attr.cuda_grid_dim = 1 if right else 2
        attr.cuda_block_dim = 32
        if threadIdx.x == 0:
            total = x[0]
            for i in range(1, 7):
                total += x[i]
            y[blockIdx.x] = total  # wrong

    return kernel


@mistake(KIND, WriteToInput, ramp(64), expected=lambda x: x * x + 1)
def an_input_used_as_scratch(right):
    """The squares go where the caller's x is."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        i = threadIdx.x
        if right:
            y[i] = x[i] * x[i] + 1
        else:
            x[i] = x[i] * x[i]  # wrong
            y[i] = x[i] + 1

    return kernel
