"""Kernels as functions for NVRTC."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hidet.codegen.common.heads import parameters
from hidet.codegen.common.language import Language
from hidet.codegen.common.names import Names
from hidet.codegen.common.signs import Signs
from hidet.codegen.cuda.expressions import CudaExpressions
from hidet.codegen.cuda.prelude import PARTS, prelude
from hidet.codegen.cuda.statements import CudaStatements
from hidet.intrinsics.words import DYNAMIC_SHARED
from hidet.ir.expr import Const, Expr, Var
from hidet.ir.functions import FUNCTIONS
from hidet.ir.kernel import Kernel, KernelKind, Launch

RESERVED = (
    *PARTS, *FUNCTIONS, *(f"{name}f" for name in FUNCTIONS), "fabs", "fabsf", "fmod", "fmodf",
    *("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "printf", "memcpy"),
    DYNAMIC_SHARED, "INLINE", "vector_alignment", "each", "all",
)  # fmt: skip


def function(
    kernel: Kernel,
    kernels: Sequence[Kernel],
    used: set[str],
    signs: Signs,
    overwritten: Collection[Var],
) -> str:
    """One kernel; adds the prelude's names it relies on to `used`."""
    names = Names((*RESERVED, *(k.name for k in kernels)))
    loads: dict[Expr, str] = dict.fromkeys(kernel.once, "load_once")
    loads |= dict.fromkeys(kernel.lasting, "load_lasting")
    expressions = CudaExpressions(names, signs, loads)
    heads = parameters(kernel, expressions, overwritten).values()
    params = ", ".join(filter(None, (*heads, *maps(kernel, expressions))))
    writer = CudaStatements(kernel, expressions)
    writer.statements(kernel.body)
    if DYNAMIC_SHARED in expressions.used:
        writer.lines.insert(
            0, f"  extern __shared__ __align__(1024) unsigned char {DYNAMIC_SHARED}[];"
        )
    used |= expressions.used
    head = f'extern "C" __global__ void {attributes(kernel.launch)}{kernel.name}({params}) {{'
    return "\n".join([head, *writer.lines, "}", ""])


def maps(kernel: Kernel, expressions: CudaExpressions) -> list[str]:
    """The tensor maps of a kernel, which come after its other parameters."""
    if kernel.maps:
        expressions.used.add("TensorMap")
    names = expressions.names
    return [f"const __grid_constant__ TensorMap {names[each.var]}" for each in kernel.maps]


def attributes(launch: Launch) -> str:
    """How many threads a block has, how many blocks should fit, and the cluster."""
    text = ""
    sizes = [size.value for size in launch.block if isinstance(size, Const)]
    if len(sizes) == 3:
        threads = int(sizes[0] * sizes[1] * sizes[2])
        fit = f", {launch.min_blocks}" if launch.min_blocks else ""
        text += f"__launch_bounds__({threads}{fit}) "
    if launch.cluster != (1, 1, 1):
        text += f"__cluster_dims__({', '.join(map(str, launch.cluster))}) "
    return text


LANGUAGE = Language(KernelKind.CUDA, prelude, function)
"""CUDA C++17: no headers but those of the small float types."""
