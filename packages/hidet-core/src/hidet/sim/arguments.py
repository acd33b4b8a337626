"""Arguments of a launch: arrays checked and wrapped, symbols read off their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from hidet.errors import BadArgument, DtypeMismatch, Place, ShapeMismatch, at
from hidet.ir.expr import Expr, Var
from hidet.ir.walk import variables
from hidet.runtime.binding.memory import array_of
from hidet.runtime.devices.dlpack import view_of_dlpack
from hidet.sim.constants import number
from hidet.sim.memories.undefined import is_undefined
from hidet.sim.memory import Buffer, fresh, wrapped
from hidet.types import DType, PointerType, Scope, TensorType, u8
from hidet.types.narrow import STORED


@dataclass
class Bound:
    """What variables stand for: buffers and numbers."""

    arrays: dict[Var, Buffer] = field(default_factory=dict)
    scalars: dict[Var, Any] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)

    def number(self, e: Expr | int) -> Any:
        """The value of a size."""
        if isinstance(e, int):
            return e
        for var in variables(e):
            if var not in self.scalars:
                self.scalars[var] = scalar(var, self.named(var))
        return number(e, self.scalars)

    def named(self, var: Var) -> Any:
        """The number given by name for a symbol."""
        if var.name not in self.names:
            raise BadArgument(
                f"the value of {var.name} is not known",
                help=f"pass it by name: launch(..., {var.name}=...)",
            )
        return self.names[var.name]


def bind(
    params: Sequence[Var],
    arguments: Sequence[Any],
    sizes: Mapping[str, Any],
    places: Sequence[Place] = (),
) -> Bound:
    """The parameters, written at `places`, with values; `BadArgument` where they do not fit."""
    given = [each if isinstance(each, np.generic) else shared(each) for each in arguments]
    for var in params[len(given) :]:
        if var.name not in sizes:
            names = ", ".join(each.name for each in params)
            raise BadArgument(
                f"parameter {var.name} of ({names}) is missing; arguments given: {len(given)}"
            )
        given.append(sizes[var.name])
    if len(given) > len(params):
        names = ", ".join(var.name for var in params)
        raise BadArgument(f"it takes ({names}); arguments given: {len(given)}")
    found = Bound(names=dict(sizes))
    memory: dict[tuple[int, int], Buffer] = {}
    place = dict(zip(params, places, strict=False))
    for var, value in zip(params, given, strict=True):
        with at(place.get(var)):
            if isinstance(var.of, TensorType | PointerType):
                found.arrays[var] = array(var, value, memory)
            else:
                found.scalars[var] = scalar(var, value)
    for var, value in zip(params, given, strict=True):
        if isinstance(var.of, TensorType):
            with at(place.get(var)):
                match_shape(var, var.of, np.shape(value), found)
    return found


def shared(value: Any) -> Any:
    """A tensor of any library as a numpy array on its memory; anything else as it is."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return value
    view, has_gaps, _ = view_of_dlpack(value)
    if view.device != "cpu":
        raise BadArgument(
            f"a tensor on {view.device} cannot be simulated", help="pass a copy of it on the CPU"
        )
    if has_gaps:
        raise BadArgument("a tensor with gaps cannot be simulated", help="pass a contiguous copy")
    return array_of(view)


def scalar(var: Var, value: Any) -> Any:
    """A number at the type of its parameter."""
    of = var.of
    number = isinstance(value, bool | int | float | np.generic | np.ndarray) and not np.ndim(value)
    if not isinstance(of, DType) or not number:
        raise BadArgument(f"{var.name} is {of}; {type(value).__name__} does not fit")
    if of.is_integer and not (of.limits[0] <= value <= of.limits[1] and int(value) == value):
        raise BadArgument(f"{value} does not fit into {var.name}, which is {of}")
    return of.numpy.type(value)


def array(var: Var, value: Any, memory: dict[tuple[int, int], Buffer]) -> Buffer:
    """The caller's array as a buffer; the same memory twice is one buffer."""
    if not isinstance(value, np.ndarray):
        raise BadArgument(
            f"{var.name} is {var.of}: pass an array or a tensor, not {type(value).__name__}"
        )
    if value.dtype != var.dtype.numpy and not (var.dtype is u8 and value.dtype in STORED):
        raise DtypeMismatch(f"{var.name} is {var.of}; the array holds {value.dtype}")
    if not value.flags.c_contiguous:
        raise BadArgument(f"the array for {var.name} is not C-contiguous")
    start, size = value.__array_interface__["data"][0], value.nbytes
    found = memory.get((start, size))
    if found is not None:
        return found
    for (other, length), buffer in memory.items():
        if size and length and start < other + length and other < start + size:
            raise BadArgument(
                f"the arrays for {buffer.name} and {var.name} overlap in part",
                help="pass the same array twice, or arrays apart from each other",
            )
    memory[start, size] = buffer = wrapped(var.name, value)
    buffer.read_only = not value.flags.writeable
    if is_undefined(value):
        buffer.starts_undefined, buffer.source = True, value
    return buffer


def around(params: Sequence[Var], known: Mapping[Var, Any]) -> dict[Var, Any]:
    """The numbers that a launch sees of those around it: what its own arguments' shapes say goes
    before."""
    own = {size for var in params if isinstance(var.of, TensorType) for size in var.of.shape}
    return {var: value for var, value in known.items() if var not in own}


def match_shape(var: Var, of: TensorType, shape: tuple[int, ...], bound: Bound) -> None:
    """Read symbols off an array's shape; `ShapeMismatch` where sizes differ."""
    if of.layout is not None:
        return  # the array is the storage; accesses are checked against its size
    if len(shape) != of.ndim:
        raise ShapeMismatch(f"{var.name} is {of}; the array has shape {shape}")
    for size, extent in zip(of.shape, shape, strict=True):
        if isinstance(size, Var) and size not in bound.scalars:
            bound.scalars[size] = scalar(size, bound.names.get(size.name, extent))
        wanted = int(bound.number(size))
        if wanted != extent:
            before = f"{size} is {wanted} for what was passed before it"
            raise ShapeMismatch(
                f"{var.name} is {of}; the array has shape {shape}",
                help=None if isinstance(size, int) else before,
            )


def workspace(var: Var, bound: Bound) -> Buffer:
    """Global memory of undefined content, for the calls of one module."""
    of = var.of
    if not isinstance(of, TensorType):
        raise BadArgument(f"workspace {var.name} is {of}, not a tensor")
    shape = tuple(int(bound.number(size)) for size in of.shape)
    size = prod(shape) * of.dtype.nbytes
    buffer = fresh(var.name, Scope.GLOBAL, of.dtype.nbytes, shape, size, 1)
    buffer.starts_undefined = True
    return buffer
