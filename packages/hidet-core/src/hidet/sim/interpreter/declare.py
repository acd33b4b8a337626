"""Shared and register arrays coming into being."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from hidet.errors import BadKernel
from hidet.ir.expr import Var, wrap
from hidet.sim.asynchronous.wgmma import holds_of
from hidet.sim.interpreter.compile_expr import Code, Expressions, tensor_type
from hidet.sim.memories.shared import shared_buffer
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.threads.spread import owner_table
from hidet.sim.values import Mask, rows
from hidet.types import Scope, TensorType

REGISTER_ALIGNMENT = 16


def declared_array(
    var: Var, init: Code | None, expr: Expressions
) -> Callable[[SimtGroup, Mask], None]:
    """What a `Declare` of an array does: once per block for shared memory, else each time anew."""
    of = tensor_type(var)
    sizes = [expr(wrap(size)) for size in of.shape]

    def run(simt: SimtGroup, mask: Mask) -> None:
        shape = tuple(int(size(simt, mask)) for size in sizes)
        if of.scope is Scope.SHARED:
            buffer = simt.shared.get(var)
            if buffer is not None:
                simt.env[var] = Pointer(buffer, np.int64(0))
                return
            buffer = shared_array(simt, var, of, shape)
        elif of.scope is Scope.REGISTER:
            buffer = register_array(simt, var, of, shape, mask)
        else:
            raise BadKernel(f"{var.name} is declared in global memory", help="make it a parameter")
        if init is not None:
            fill(simt, buffer, of, init(simt, mask), mask)

    return run


def elements(of: TensorType, shape: tuple[int, ...]) -> int:
    """How many elements an array takes, by its layout."""
    if of.layout is None:
        return prod(shape)
    table = owner_table(of)
    if table is not None:
        return table.each
    size = getattr(of.layout, "cosize", None)
    if size is not None:
        return int(size)
    return int(np.max(of.layout(*np.indices(shape)))) + 1


def shared_array(simt: SimtGroup, var: Var, of: TensorType, shape: tuple[int, ...]) -> Buffer:
    """A shared array, one for each resident block, watched for races."""
    size = elements(of, shape) * of.dtype.nbytes
    buffer = shared_buffer(simt, var, of.dtype.nbytes, named(of, shape), size)
    simt.env[var] = Pointer(buffer, np.int64(0))
    return buffer


def register_array(
    simt: SimtGroup, var: Var, of: TensorType, shape: tuple[int, ...], mask: Mask
) -> Buffer:
    """A register array, one for each thread; its content is undefined again at each fence."""
    known: Any = simt.env.get(var)
    size = elements(of, shape) * of.dtype.nbytes
    level = len(simt.origin) - 1
    if isinstance(known, Pointer) and reusable(known.buffer, size, level):
        buffer = known.buffer
        assert buffer.written is not None
        buffer.written.reshape(simt.count, -1)[simt.lanes(mask)] = False
        return buffer
    stride = -(-max(size, 1) // REGISTER_ALIGNMENT) * REGISTER_ALIGNMENT
    data = np.zeros(stride * simt.count, np.uint8)
    buffer = Buffer(var.name, of.scope, data, size, stride, of.dtype.nbytes, named(of, shape))
    buffer.level = level
    buffer.granule = simt.run.granule[of.scope]
    buffer.written = np.zeros(data.size // buffer.granule, np.bool_)
    buffer.holds = holds_of(simt, data.size // buffer.granule)
    simt.env[var] = Pointer(buffer, np.int64(0))
    return buffer


def reusable(buffer: Buffer, size: int, level: int) -> bool:
    """Whether the registers of the last fence can be those of this one: no product holds them."""
    held = buffer.holds is not None and buffer.holds.busy
    return buffer.size == size and buffer.level == level and not held


def named(of: TensorType, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape by which messages name elements; None where offsets do not tell the index."""
    return shape if of.layout is None else None


def fill(simt: SimtGroup, buffer: Buffer, of: TensorType, value: Any, mask: Mask) -> None:
    """Give every element of the instances of the threads in the mask one value."""
    view = buffer.view(of.dtype.numpy).reshape(-1, buffer.stride // of.dtype.nbytes)
    lanes = simt.lanes(mask)
    rank = simt.slot[lanes] if of.scope is Scope.SHARED else np.arange(simt.count)[lanes]
    given = rows(value, lanes)
    view[rank] = given[:, None] if np.ndim(given) else given
    if buffer.written is not None:
        buffer.written.reshape(len(view), -1)[rank] = True
    if buffer.holds is not None:
        buffer.holds.touched.reshape(len(view), -1)[rank] = buffer.holds.fences.now
