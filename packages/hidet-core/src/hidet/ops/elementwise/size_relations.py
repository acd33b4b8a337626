"""What a model asserts of its sizes: checked by each call, and known while it is compiled."""

from __future__ import annotations

from math import gcd

from hidet.compute.guards import assumptions
from hidet.compute.sizes import agree, assume, assume_order, terms, tidy
from hidet.graph.data_sizes import Sign, read_beside, require, size_source
from hidet.ir.expr import Const, FloorMod, Var
from hidet.ops.elementwise.binary import floor_divide
from hidet.ops.tensors.size_from import size_from
from hidet.types import Size


def asserted(left: Size, sign: Sign, right: Size) -> None:
    """Let each call check a relation of sizes, some of which data tell: a ShapeMismatch where it
    does not hold. In a block of `assuming()` it is known of them from then on."""
    left, right = tidy(left), tidy(right)
    match sign, left, right:
        case "==", FloorMod(size, Const(int(by))), 0 if assume_multiple(size, by):
            return
    if sign == "==" and assumptions() is not None and agree(left, right):
        return
    require(left, sign, right)
    if sign == "<=":
        assume_order(left, right)


def assume_multiple(size: Size, by: int) -> bool:
    """Take a size to be a multiple of a number, which each call checks; False if it may be none.

    The data-dependent size in it becomes so many times one that is told beside it.
    """
    rest = {atoms: count % by for atoms, count in terms(size).items() if count % by}
    if assumptions() is None or len(rest) != 1:
        return not rest
    ((atoms, count),) = rest.items()
    symbol = atoms[0] if len(atoms) == 1 else None
    tensor = size_source(symbol) if isinstance(symbol, Var) else None
    if tensor is None or not isinstance(symbol, Var):
        return False
    step = by // gcd(by, count)
    part = size_from(floor_divide(tensor, step), "part")
    if isinstance(part, Var):
        read_beside(part, symbol)
    assume(symbol, part * step)
    return True
