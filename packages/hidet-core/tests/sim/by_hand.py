"""Kernels written as IR by hand, with little around them."""

import numpy as np

from hidet.ir.expr import Builtin, Const, Var, wrap
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Invoke
from hidet.types import Scope, TensorType, i32

TX, TY, BX, BY = (Builtin(n) for n in ("threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y"))
SYNC = Invoke("syncthreads")


def c(value: int) -> Const:
    return Const(value, i32)


def cuda(params, body, grid=(1,), block=(32,)) -> Kernel:
    sizes = [tuple(wrap(s) for s in (*g, ONE, ONE))[:3] for g in (grid, block)]
    return Kernel("kernel", tuple(params), tuple(body), KernelKind.CUDA, Launch(*sizes))


def shared(name, of, *shape, layout=None) -> Var:
    return Var(name, TensorType(of, shape, Scope.SHARED, layout))


def registers(name, of, *shape) -> Var:
    return Var(name, TensorType(of, shape, Scope.REGISTER))


def random(*shape, of=np.float32):
    return np.random.default_rng(7).standard_normal(shape).astype(of)
