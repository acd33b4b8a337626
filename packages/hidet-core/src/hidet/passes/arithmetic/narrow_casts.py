"""Narrow element types become bytes, and what is computed of them wider values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hidet.ir.expr import (
    Binary,
    Builtin,
    Cast,
    Const,
    Expr,
    Lane,
    Math,
    Pack,
    Reinterpret,
    Unary,
    Var,
    is_vector,
)
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.node import Node
from hidet.ir.stmt import Print
from hidet.ir.walk import postorder, substitute, variables
from hidet.passes.base import kernel_pass, with_body
from hidet.types import (
    DType,
    PointerType,
    TensorMapType,
    TensorType,
    Type,
    VectorType,
    f8e4m3,
    f8e5m2,
    f32,
    i32,
    u8,
)
from hidet.types.dtypes import Kind
from hidet.types.narrow import NARROW, computed_in

IN_HARDWARE = frozenset((f8e4m3, f8e5m2))
"""What CUDA converts by instructions, and its matrix units take: they stay as they are there."""


@kernel_pass()
def narrow_casts(kernel: Kernel) -> Kernel:
    """Store narrow elements as bytes, convert them by their codes, compute in wider types.

    before   x: f8e4m3fnuz[n]  y: f4e2m1[n]   y[i] = f4e2m1(f32(x[i]) * 2.0)
    after    x: u8[n]  y: u8[n]               y[i] = encode_f4e2m1(decode_f8e4m3fnuz(x[i]) * 2.0)

    So nothing below this pass knows narrow types. Codes of floats are written and read by functions
    of `ir.functions.CODES`, which are calls in CUDA and C++: their text names an operand once.
    """
    narrow = NARROW - IN_HARDWARE if kernel.kind is KernelKind.CUDA else NARROW
    if not any(introduces(each, narrow) for each in (*kernel.params, *postorder(kernel.body))):
        return kernel
    bytes_ = Bytes(narrow)
    found = (*kernel.params, *variables(kernel))
    renamed = {each: bytes_.value(each) for each in found}
    body = with_body(kernel, tuple(bytes_.statement(each) for each in kernel.body))
    maps = tuple(substitute(each, renamed) for each in kernel.maps)
    params = tuple(renamed.get(each, each) for each in kernel.params)
    made = replace(body, params=params, maps=maps)
    return made.hinting(lambda some: (renamed.get(each, each) for each in some))


def introduces(node: Node, narrow: frozenset[DType]) -> bool:
    """Whether a node is of a narrow type whatever its operands are."""
    match node:
        case Const(of=of) | Var(of=of) | Builtin(of=of) | Math(of=of):
            return element(of) in narrow
        case Cast(to=of) | Reinterpret(to=of):
            return element(of) in narrow
    return False


def element(of: Type) -> DType | None:
    """The element type of a type."""
    match of:
        case DType():
            return of
        case VectorType(element=found) | PointerType(to=found):
            return found
        case TensorType(dtype=found) | TensorMapType(dtype=found):
            return found
    return None


class Bytes:
    """The rewriting of one kernel: what each expression has become."""

    def __init__(self, narrow: frozenset[DType]) -> None:
        self.narrow = narrow
        self.done: dict[Any, Any] = {}
        self.seen: set[Node] = set()

    def type(self, of: Any) -> Any:
        """A type with bytes for narrow elements."""
        if element(of) not in self.narrow:
            return of
        match of:
            case DType():
                return u8
            case VectorType():
                return replace(of, element=u8)
            case PointerType():
                return replace(of, to=u8)
        return replace(of, dtype=u8)

    def statement(self, s: Node) -> Any:
        """A statement, and all that is in it."""
        if isinstance(s, Expr):
            return self.value(s)
        if isinstance(s, Print):
            return replace(s, args=tuple(map(self.wide, s.args)))
        return s.map_children(self.statement)

    def value(self, e: Any) -> Any:
        """An expression; a narrow one is the byte that holds its code."""
        for each in postorder(e, self.seen):
            self.done[each] = self.changed(each)
        return self.done[e]

    def changed(self, e: Any) -> Any:
        """An expression whose operands have been changed."""
        if self.computes(e):
            if is_vector(e):
                return self.by_lanes(e)
            return self.computed(e)
        match e:
            case Const(value, of) if of in self.narrow:
                return Const(code(value, of), u8)
            case Var(name, of):
                return Var(name, self.type(of)) if element(of) in self.narrow else e
            case Builtin(of=of):
                return replace(e, of=self.type(of))
            case Reinterpret(to=to):
                e = replace(e, to=self.type(to))
        return e.map_children(self.done.__getitem__)

    def computes(self, e: Any) -> bool:
        """Whether an expression is one of narrow values that bytes do not have."""
        if isinstance(e, Cast):
            return e.to in self.narrow or e.value.dtype in self.narrow
        if isinstance(e, Binary | Unary):
            return e.a.dtype in self.narrow
        return isinstance(e, Math) and (e.of in self.narrow or e.args[0].dtype in self.narrow)

    def computed(self, e: Any) -> Expr:
        """A conversion or an operation on single values."""
        if isinstance(e, Cast):
            return self.stored(self.wide(e.value, e.to), e.to)
        if isinstance(e, Math):
            made: Expr = Math(e.name, tuple(map(self.wide, e.args)), computed_in(e.of))
            return self.stored(made, e.of)
        return self.stored(e.map_children(self.wide), e.dtype)

    def wide(self, e: Expr, to: DType | None = None) -> Expr:
        """An operand as its value, in the type it is computed in."""
        byte = self.value(e)
        return decoded(byte, e.dtype) if e.dtype in self.narrow else byte

    def stored(self, value: Expr, to: DType) -> Expr:
        """A value as the byte of a narrow type, or as another type."""
        return encoded(value, to) if to in self.narrow else value.cast(to)

    def by_lanes(self, e: Any) -> Expr:
        """An operation on vectors, one lane after the other."""

        def lane(number: int) -> Callable[[Expr], Expr]:
            return lambda operand: Lane(operand, number) if is_vector(operand) else operand

        singles = [e.map_children(lane(number)) for number in range(e.type.lanes)]
        return Pack(tuple(self.value(each) for each in singles))


def code(value: float, of: DType) -> int:
    """The byte that holds a number."""
    return int(np.asarray(value).astype(of.numpy).view(np.uint8))


def decoded(code: Expr, of: DType) -> Expr:
    """The value of a byte that holds a number of a narrow type: float32, or int32 for integers."""
    if of.is_float:
        return Math(f"decode_{of}", (code,), f32)
    whole, half = code.cast(i32) & ((1 << of.bits) - 1), 1 << (of.bits - 1)
    return (whole ^ half) - half if of.kind is Kind.SIGNED else whole


def encoded(value: Expr, to: DType) -> Expr:
    """The byte that holds a value of another type, as a number of a narrow type.

    Floats round to the nearest, ties to even, by way of float32. Floats become integers toward
    zero; of what an integer type does not hold the lowest bits are kept.
    """
    if to.is_float:
        return Math(f"encode_{to}", (value.cast(f32),), u8)
    whole = value.cast(i32) if value.dtype.is_float else value.cast(u8)
    return (whole & ((1 << to.bits) - 1)).cast(u8)
