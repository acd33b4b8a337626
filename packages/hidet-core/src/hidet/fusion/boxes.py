"""Tensor maps of operands that are parts of other tensors: they become maps of those.

A part has the strides of what it is a part of. Where it begins is added to the last position of
each box, and the last axis is as much longer: it ends where the part does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hidet.compute.sizes import tidy
from hidet.compute.strides import StridedView, as_size, seen_through
from hidet.errors import InternalError
from hidet.intrinsics.tensor_maps.operands import shifted
from hidet.ir.bounds import Bounds
from hidet.ir.expr import Expr, Get, Var, convert, wrap
from hidet.ir.kernel import Kernel, TensorMap
from hidet.ir.stmt import Invoke, Stmt
from hidet.ir.walk import rebuild_statements
from hidet.types import Size, TensorType, i32, i64

Read = Callable[[tuple[Expr, ...]], Get]
"""The element of memory that an operand has at an index."""


def mapped(kernel: Kernel, reads: Mapping[Var, Read]) -> Kernel:
    """A kernel whose tensor maps of the operands in `reads` are of the memory that these read."""
    found = {e.var: moved(e, reads[e.tensor]) for e in kernel.maps if e.tensor in reads}
    if not found:
        return kernel

    def change(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Invoke):
            for var in found.keys() & set(stmt.args):
                return shifted(stmt, convert(wrap(found[var][1]), i32))
        return stmt

    maps = tuple(found[each.var][0] if each.var in found else each for each in kernel.maps)
    return replace(kernel, maps=maps, body=rebuild_statements(kernel.body, change))


def moved(map: TensorMap, read: Read) -> tuple[TensorMap, Size]:
    """A map of what an operand is a part of, and what is added to the last position of a box."""
    of = map.tensor.of
    assert isinstance(of, TensorType)
    source = read(tuple(wrap(0) for _ in of.shape)).tensor
    assert isinstance(source.of, TensorType)
    shape, strides = (
        tuple(as_size(Bounds().form(e)) for e in es) for es in (map.shape, map.strides)
    )
    view = StridedView(shape, (*strides, 1))
    found = seen_through(view, of.shape, source.of.shape, lambda index: read(index).index)
    if found is None:
        raise InternalError(f"no strides say where {map.tensor.name} lies in {source.name}")
    *outer, last = found.shape
    sizes = (*outer, tidy(last + found.offset))
    wide, apart = ((convert(wrap(e), i64) for e in es) for es in (sizes, found.strides[:-1]))
    return replace(map, tensor=source, shape=tuple(wide), strides=tuple(apart)), found.offset
