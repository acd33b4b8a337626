"""How many floating-point operations a definition asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet.compute.grid import At, Computed, Grid, Scan, Scatter
from hidet.compute.reduction import ArgReduce, Reduce
from hidet.compute.sizes import product
from hidet.ir.expr import Binary, Cast, Const, Expr, Math, Negate, Reinterpret, Select, Var
from hidet.types import DType, Size

FREE = Cast, Const, Negate, Reinterpret, Select, Var, At
"""What moves or renames a number: no operation of a roofline."""


def operations(outputs: Sequence[Grid]) -> Size:
    """The operations on floats that these grids need, each grid that they are made of once.

    A multiply-add counts as two, a function such as `exp` as one, casts and choices as none.
    """
    total: Size = 0
    seen: set[int] = set()
    pending = list(outputs)
    while pending:
        grid = pending.pop()
        if id(grid) in seen:
            continue
        seen.add(id(grid))
        match grid:
            case Computed(shape, _, value):
                total = total + product(shape) * of_element(value, set(), pending)
            case Scan(source):
                total = total + product(source.shape)
                pending.append(source)
            case Scatter(base, _, extents, _, value):
                total = total + product(extents) * (1 + of_element(value, set(), pending))
                pending.append(base)
    return total


def of_element(expr: Expr, seen: set[int], grids: list[Grid]) -> Any:
    """The operations of one element; the grids that it reads join `grids`."""
    if id(expr) in seen:
        return 0
    seen.add(id(expr))
    if isinstance(expr, At):
        grids.append(expr.grid)
        return 0
    parts = [of_element(e, seen, grids) for e in expr.children() if isinstance(e, Expr)]
    inner = sum(parts, 0)
    if isinstance(expr, Reduce | ArgReduce):
        return product(expr.extents) * (inner + int(is_float(expr.value)))
    counts = isinstance(expr, Binary | Math) and is_float(expr)
    return inner + int(counts and not isinstance(expr, FREE))


def is_float(expr: Expr) -> bool:
    """Whether an expression is a floating-point number."""
    return isinstance(expr.type, DType) and expr.type.is_float
