"""Kernels of one block around intrinsics, simulated and compiled."""

import numpy as np
import pytest
from cuda.pathfinder import find_nvidia_header_directory

from hidet.codegen.cuda import emit
from hidet.ir.expr import Builtin, Const, Load, Var
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.sim import launch
from hidet.toolchain import compile_cuda
from hidet.types import dtype, i32

THREAD = Builtin("threadIdx.x")


def one_block(params, body, threads=32):
    sizes = (ONE, ONE, ONE), (Const(threads, i32), ONE, ONE)
    return Kernel("kernel", tuple(params), tuple(body), KernelKind.CUDA, Launch(*sizes))


@pytest.fixture
def block():
    """A CUDA kernel of one block."""
    return one_block


@pytest.fixture
def each_lane():
    """Each thread's result of an intrinsic, of operands made from the thread's own value."""

    def run(name, operands, values, result, options=()):
        of = dtype(values.dtype)
        x, y = Var("x", of[len(values),]), Var("y", result[len(values),])
        mine, found = Var("mine", of), Var("found", result)
        body = (
            Declare(mine, Load(x, (THREAD,))),
            Declare(found),
            Invoke(name, operands(mine), (found,), options),
            Store(y, (THREAD,), found),
        )
        out = np.zeros(len(values), result.numpy)
        launch(one_block((x, y), body, len(values)), values, out)
        return out

    return run


@pytest.fixture(scope="session")
def assembled():
    """Compile a lowered kernel for sm_90a: its text and its inline PTX are right."""
    folder = find_nvidia_header_directory("cudart")
    options = (f"-I{folder}", f"-I{folder}/cccl")

    def build(kernel):
        text = emit([kernel])
        compile_cuda(text, arch="sm_90a", options=options)
        return text

    return build
