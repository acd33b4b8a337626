"""setmaxnreg: registers that a block does not have, or that are not given back."""

import numpy as np

from catalogue.case import mistake
from hidet.lang import attr, f32, script
from hidet.lang.cuda import setmaxnreg_dec, setmaxnreg_inc, threadIdx
from hidet.sim import Deadlock, RegisterBudget

REGISTERS = "registers beyond the launch bound"


def ones(x):
    return np.ones(384, np.float32)


@mistake(REGISTERS, Deadlock, np.ones(1, np.float32), expected=ones)
def more_registers_than_were_given_back(right):
    """(168 - 40) registers for two times (232 - 168); 240 each are more than the block has."""

    @script
    def kernel(x: f32[1], y: f32[384]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 384
        attr.cuda_min_blocks = 1
        if threadIdx.x < 128:
            setmaxnreg_dec(40)
        else:
            if right:
                setmaxnreg_inc(232)
            else:
                setmaxnreg_inc(240)  # wrong
        y[threadIdx.x] = x[0]

    return kernel


@mistake(REGISTERS, RegisterBudget, np.ones(1, np.float32), expected=ones)
def registers_given_back_that_are_not_there(right):
    """A block of 384 threads starts with 168 registers each: 200 is no decrease."""

    @script
    def kernel(x: f32[1], y: f32[384]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 384
        attr.cuda_min_blocks = 1
        if threadIdx.x < 128:
            setmaxnreg_dec(40 if right else 200)  # wrong
        else:
            setmaxnreg_inc(232)
        y[threadIdx.x] = x[0]

    return kernel
