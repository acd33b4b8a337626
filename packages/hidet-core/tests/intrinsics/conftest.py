"""Kernels of one block around intrinsics, simulated and compiled."""

from pathlib import Path

import numpy as np
import pytest
from cuda.bindings import nvrtc
from cuda.pathfinder import find_nvidia_header_directory

from hidet.codegen.cuda import emit
from hidet.ir.expr import Builtin, Const, Load, Var
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.sim import launch
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
    headers = Path(find_nvidia_header_directory("cudart"))

    def build(kernel):
        text = emit([kernel])
        _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
        options = [b"--gpu-architecture=sm_90a", f"-I{headers}".encode()]
        options += [f"-I{headers / 'cccl'}".encode(), b"--std=c++17"]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        nvrtc.nvrtcDestroyProgram(program)
        assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode() + text
        return text

    return build
