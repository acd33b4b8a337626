"""Kernels as one translation unit for NVRTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.codegen.common.function import Function
from hidet.codegen.common.heads import check_heads, parameters
from hidet.codegen.common.names import Names
from hidet.codegen.common.signs import Signs
from hidet.codegen.cuda.expressions import CudaExpressions
from hidet.codegen.cuda.prelude import PARTS, prelude
from hidet.codegen.cuda.statements import CudaStatements
from hidet.errors import at
from hidet.intrinsics.words import DYNAMIC_SHARED
from hidet.ir.expr import Const
from hidet.ir.functions import FUNCTIONS
from hidet.ir.kernel import Kernel, KernelKind, Launch

RESERVED = (
    *PARTS, *FUNCTIONS, *(f"{name}f" for name in FUNCTIONS), "fabs", "fabsf", "fmod", "fmodf",
    *("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "printf", "memcpy"),
    DYNAMIC_SHARED, "INLINE", "vector_alignment", "each", "all",
)  # fmt: skip


def emit(kernels: Sequence[Kernel], signs: Callable[[], Signs] = Signs) -> str:
    """CUDA C++17 for lowered kernels: no headers but those of the small float types.

    Functions have C linkage and the kernels' names. `signs` makes what proves indices not negative.
    """
    check_heads(kernels, KernelKind.CUDA)
    used: set[str] = set()
    functions = []
    for kernel in kernels:
        with at(kernel.place):
            functions.append(function(kernel, kernels, used, signs()))
    return "\n".join([prelude(used), *functions])


def written(kernel: Kernel) -> Function:
    """One lowered kernel as a function that `unit` can put beside others."""
    check_heads([kernel], KernelKind.CUDA)
    used: set[str] = set()
    with at(kernel.place):
        text = function(kernel, [kernel], used, Signs())
    return Function(kernel.name, text, tuple(sorted(used)))


def unit(functions: Sequence[Function]) -> str:
    """Functions as one translation unit."""
    used = {name for each in functions for name in each.used}
    return "\n".join([prelude(used), *(each.text for each in functions)])


def function(kernel: Kernel, kernels: Sequence[Kernel], used: set[str], signs: Signs) -> str:
    """One kernel; adds the prelude's names it relies on to `used`."""
    names = Names((*RESERVED, *(k.name for k in kernels)))
    expressions = CudaExpressions(names, signs)
    params = ", ".join(filter(None, (parameters(kernel, expressions), *maps(kernel, expressions))))
    writer = CudaStatements(kernel, expressions)
    for s in kernel.body:
        writer.stmt(s)
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
