"""Functions that have no schedule of their own, which the automatic one makes kernels of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hidet import ops, symbol_var
from hidet.graph import FlowGraph, Tensor, symbol, trace_from
from hidet.types import TensorType, boolean, f16, f32, f64, i8

Results = Tensor | list[Tensor]


@dataclass(frozen=True)
class Definition:
    """A function of tensors of some types."""

    name: str
    function: Callable[..., Results]
    types: tuple[TensorType, ...]

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.types[0].shape))
        return f"automatic {self.name} {self.types[0].dtype}-{sizes}"

    def graph(self) -> FlowGraph:
        """The function of inputs."""
        made = self.function(*(symbol(of.shape, of.dtype, device="cuda") for of in self.types))
        return trace_from(made if isinstance(made, list) else [made])


def softmax(x: Tensor) -> Tensor:
    """Of rows."""
    return ops.softmax(x, -1)


def added_norm(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """The norm of a sum of two."""
    return ops.rms_norm(x + y, w)


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """A softmax of some elements."""
    return ops.softmax(ops.where(mask, x, -9.0), -1)


def both(x: Tensor) -> list[Tensor]:
    """Two results of the same rows."""
    y = softmax(x)
    return [ops.cast(y, f32), ops.relu(y - 0.1)]


ROWS = (
    Definition("softmax", softmax, (f16[4096, 1024],)),
    Definition("softmax", softmax, (f32[33, 129],)),
    Definition("softmax", softmax, (f16[4096, 4096],)),
    Definition("softmax", softmax, (f32[2, 5003],)),
    Definition("softmax", softmax, (f16[1025, 261],)),
    Definition("softmax", softmax, (f32[1, 33001],)),
    Definition("softmax", softmax, (f32[2, 40000],)),
    Definition("softmax", softmax, (f16[1024, 65536],)),
    Definition("softmax", softmax, (f32[1024, 57340],)),
    Definition("norm", ops.layer_norm, (f16[512, 768], f16[768], f16[768])),
    Definition("norm", ops.layer_norm, (f32[3, 4096], f32[4096], f32[4096])),
    Definition("norm", ops.layer_norm, (f16[1024, 65536], f16[65536], f16[65536])),
    Definition("norm", ops.layer_norm, (f32[1024, 60001],)),
    Definition("norm", ops.layer_norm, (f16[1024, 57336],)),
    Definition("norm", ops.layer_norm, (f32[16, 65536],)),
    Definition("added", added_norm, (f16[7, 1032], f16[7, 1032], f16[1032])),
    Definition("added", added_norm, (f32[1024, 65536], f32[1024, 65536], f32[65536])),
    Definition("masked", masked, (f32[64, 5000], boolean[64, 5000])),
    Definition("both", both, (f16[130, 2048],)),
    Definition("groups", lambda x, w: ops.group_norm(x, 2, w), (f32[3, 8, 65, 64], f32[8])),
    Definition("var", lambda x: ops.var(x, 1), (f32[5, 16420],)),
    Definition("argmax", lambda x: ops.argmax(x, -1), (f32[64, 5003],)),
    Definition("argmax", lambda x: ops.argmax(x, -1), (f16[4096, 12],)),
    Definition("any", lambda x: ops.any(x, (1,)), (boolean[7, 3000],)),
    Definition("sum", lambda x: ops.sum(x, (1,)), (f32[1024, 65536],)),
    Definition("sum", lambda x: ops.sum(x, (1,)), (f16[65536, 8],)),
    Definition("sum", lambda x: ops.sum(x, (0, 2)), (f32[5, 3, 40],)),
)
"""Reductions along rows: of a thread, a warp, a block or a cluster; in registers, in shared memory,
or coming through it."""
COLUMNS = (
    Definition("down", lambda x: ops.sum(x, (0,)), (f16[4096, 4096],)),
    Definition("down", lambda x: ops.sum(x, (0,)), (f16[4096, 20000],)),
    Definition("down", lambda x: ops.sum(x, (0,)), (f16[515, 1032],)),
    Definition("down", lambda x: ops.sum(x, (1,)), (f16[512, 8, 64],)),
    Definition("down", lambda x: ops.sum(x, (1,)), (f16[2, 5, 7, 3],)),
    Definition("max", lambda x: ops.max(-x, (0,)), (f64[1029, 144],)),
    Definition("max", lambda x: ops.max(-x, (0,)), (i8[33, 65],)),
    Definition("mean", lambda x: ops.mean(x, (0, 2)), (f16[5, 3, 11, 40],)),
    Definition("var", lambda x: ops.var(x, 0), (f32[2100, 28],)),
    Definition("softmax", lambda x: ops.softmax(x, 0), (f32[523, 129],)),
    Definition("softmax", lambda x: ops.softmax(x, 1), (f16[2, 19, 3, 8],)),
    Definition("softmax", lambda x: ops.softmax(x, 0), (f32[1100, 33],)),
)
"""Reductions along other axes."""
ELEMENTS = (
    Definition("gelu", ops.gelu, (f16[64, 3072],)),
    Definition("gelu", ops.gelu, (f16[8192, 8192],)),
    Definition("add", lambda x, y: x + y, (f32[4096, 4096], f32[4096])),
    Definition("relu", ops.relu, (f16[4096, 4099],)),
    Definition("transpose", lambda x: ops.transpose(x, 1, 0), (f16[512, 768],)),
    Definition("transpose", lambda x: ops.transpose(x, 1, 0), (f32[513, 129],)),
    Definition("across", lambda x, y: ops.transpose(x, 1, 0) + y, (f16[256, 512], f16[512, 256])),
    Definition(
        "max_pool", lambda x: ops.max_pool(x, 3, stride=2, padding=1), (f16[4, 64, 112, 112],)
    ),
    Definition("avg_pool", lambda x: ops.avg_pool(x, 2, stride=2), (f32[8, 64, 56, 56],)),
)
"""Elements of one another, of transposed operands, and of small windows."""
N = symbol_var("n")
SYMBOLIC = (
    Definition("relu", ops.relu, (f16[N, 3],)),
    Definition("relu", ops.relu, (f16[N, 64],)),
    Definition("softmax", softmax, (f16[N, 77],)),
    Definition("sum", lambda x: ops.sum(x, (1,)), (f16[4, N],)),
    Definition("down", lambda x: ops.sum(x, (0,)), (f16[N, 64],)),
    Definition("transpose", lambda x: ops.transpose(x, 1, 0), (f16[N, 64],)),
    Definition("cumsum", lambda x: ops.cumsum(x, 0), (f32[N, 9],)),
)
"""The same where a size is known at run time alone."""
DEFINITIONS = (*ROWS, *COLUMNS, *ELEMENTS, *SYMBOLIC)
