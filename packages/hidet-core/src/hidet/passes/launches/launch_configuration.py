"""The last step: a kernel's sizes become its parameters."""

from __future__ import annotations

from dataclasses import replace

from hidet.errors import BadKernel
from hidet.ir.algebra import simplify_expression
from hidet.ir.bounds import Bounds
from hidet.ir.expr import Expr
from hidet.ir.kernel import Kernel
from hidet.ir.ranges import Range
from hidet.passes.base import kernel_pass
from hidet.passes.scopes import symbols
from hidet.types import DType


@kernel_pass()
def launch_configuration(kernel: Kernel) -> Kernel:
    """Make the symbols that a kernel uses its last parameters and simplify its launch sizes.

    before   kernel scale(x: ~f32):     # grid ((n * 4 + 0) // 4, 1, 1)
    after    kernel scale(x: ~f32, n: i32):     # grid (n, 1, 1)

    Symbols are in the order in which the body, then the launch, mention them.
    """
    sizes = symbols(kernel)
    for symbol in sizes:
        if not (isinstance(symbol.of, DType) and symbol.of.is_integer):
            raise BadKernel(f"{kernel.name} uses `{symbol}`, which nothing declares")
    positive: dict[Expr, Range] = {symbol: Range(0, None) for symbol in sizes}
    bounds = Bounds(positive)
    x, y, z = (simplify_expression(size, bounds) for size in kernel.launch.grid)
    a, b, c = (simplify_expression(size, bounds) for size in kernel.launch.block)
    launch = replace(kernel.launch, grid=(x, y, z), block=(a, b, c))
    return replace(kernel, params=(*kernel.params, *sizes), launch=launch)
