"""The last step: a kernel's sizes become its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hidet.errors import BadKernel
from hidet.ir.algebra import simplify_expression
from hidet.ir.bounds import Bounds
from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Kernel
from hidet.ir.ranges import Range
from hidet.ir.stmt import Declare, For, ForTasks
from hidet.ir.walk import find, variables
from hidet.passes.base import kernel_pass
from hidet.types import DType


@kernel_pass()
def launch_configuration(kernel: Kernel) -> Kernel:
    """Make the symbols that a kernel uses its last parameters and simplify its launch sizes.

    before   kernel scale(x: ~f32):     # grid ((n * 4 + 0) // 4, 1, 1)
    after    kernel scale(x: ~f32, n: i32):     # grid (n, 1, 1)

    Symbols are in the order in which the body, then the launch, mention them.
    """
    symbols = free(kernel)
    for symbol in symbols:
        if not (isinstance(symbol.of, DType) and symbol.of.is_integer):
            raise BadKernel(f"{kernel.name} uses `{symbol}`, which nothing declares")
    positive: dict[Expr, Range] = {symbol: Range(0, None) for symbol in symbols}
    bounds = Bounds(positive)
    x, y, z = (simplify_expression(size, bounds) for size in kernel.launch.grid)
    a, b, c = (simplify_expression(size, bounds) for size in kernel.launch.block)
    launch = replace(kernel.launch, grid=(x, y, z), block=(a, b, c))
    return replace(kernel, params=(*kernel.params, *symbols), launch=launch)


def free(kernel: Kernel) -> list[Var]:
    """The variables that neither a parameter nor a statement introduces."""
    bound = {*kernel.params, *introduced(kernel)}
    return [var for var in variables([*kernel.body, kernel.launch]) if var not in bound]


def introduced(kernel: Kernel) -> Iterator[Var]:
    """The variables that statements introduce."""
    for s in find(kernel.body, Declare):
        yield s.var
    for loop in find(kernel.body, For):
        yield loop.var
    for tasks in find(kernel.body, ForTasks):
        yield from tasks.vars
