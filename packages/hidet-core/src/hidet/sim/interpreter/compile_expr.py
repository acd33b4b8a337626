"""Expressions to closures: `(simt, mask) -> value`. Only rows in the mask are sure to mean much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from hidet.errors import BadKernel
from hidet.ir.expr import (
    Address,
    And,
    Binary,
    Builtin,
    Cast,
    Const,
    Dot,
    Expr,
    Get,
    Lane,
    Load,
    Math,
    Or,
    Pack,
    Reinterpret,
    Select,
    Splat,
    Unary,
    Var,
    is_vector,
    wrap,
)
from hidet.ir.functions import meaning
from hidet.ir.numeric import BINARY, UNARY
from hidet.ir.walk import find
from hidet.sim.faults import GUARD, OutOfBounds, Uninitialised
from hidet.sim.interpreter.special_registers import special
from hidet.sim.memories.access import load
from hidet.sim.memories.conversions import cast
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.threads.spread import owner_table
from hidet.sim.values import Mask, Value, bits_as, choose, rows, some, spread, varies
from hidet.types import DType, PointerType, TensorType, VectorType

Code: TypeAlias = Callable[[SimtGroup, Mask], Value]


class Expressions:
    """Compiles expressions, each once."""

    def __init__(self) -> None:
        self.done: dict[Expr, Code] = {}

    def __call__(self, e: Expr) -> Code:
        """The closure of an expression."""
        found = self.done.get(e)
        if found is None:
            found = self.done[e] = self.compile(e)
        return found

    def compile(self, e: Expr) -> Code:
        """The closure of an expression, by its class."""
        match e:
            case Var():
                return variable(e)
            case Const(value, of):
                number = np.asarray(value).astype(of.numpy)[()]
                return lambda simt, mask: number
            case Builtin(name):
                return lambda simt, mask: special(simt, name)
            case And() | Or():
                return self.logical(e)
            case Binary():
                return self.binary(e)
            case Unary(a):
                inner, apply = self(a), UNARY[type(e)]
                return lambda simt, mask: apply(inner(simt, mask))
            case Cast(value, to):
                return self.converted(value, to)
            case Select():
                return self.select(e)
            case Math():
                return self.math(e)
        return self.memory(e)

    def memory(self, e: Expr) -> Code:
        """Expressions that touch memory or the lanes of vectors."""
        match e:
            case Load(tensor, index, lanes):
                address, of = self.element(tensor, index, lanes), tensor.dtype
                return lambda simt, mask: load(simt, address(simt, mask), of, lanes, mask)
            case Get():
                return self.get(e)
            case Address(tensor, index):
                return self.element(tensor, index, 0)
            case Pack(lanes=parts):
                return pack([self(part) for part in parts])
            case Splat(value, lanes):
                inner = self(value)
                return lambda simt, mask: np.repeat(
                    np.asarray(inner(simt, mask))[..., None], lanes, -1
                )
            case Lane(vector, lane):
                inner = self(vector)
                return lambda simt, mask: inner(simt, mask)[..., lane]
            case Reinterpret():
                return self.reinterpret(e)
            case Dot(total, a, b):
                return dot(self(total), self(a), self(b))
        raise BadKernel(f"the simulator does not know {type(e).__name__} expressions: {e}")

    def binary(self, e: Binary) -> Code:
        """An operation on two operands of one type."""
        left, right, apply = self(e.a), self(e.b), BINARY[type(e)]
        return lambda simt, mask: apply(left(simt, mask), right(simt, mask))

    def logical(self, e: Binary) -> Code:
        """`and`, `or`: the second operand is evaluated only where it decides."""
        left, right, decided = self(e.a), self(e.b), isinstance(e, Or)
        join = np.logical_or if decided else np.logical_and
        if not touches_memory(e.b):
            return lambda simt, mask: join(left(simt, mask), right(simt, mask))

        def run(simt: SimtGroup, mask: Mask) -> Value:
            first = left(simt, mask)
            open_ = mask & (~first if decided else first)
            return join(first, right(simt, open_)) if some(open_) else first

        return run

    def converted(self, value: Expr, to: DType) -> Code:
        """A cast to another element type."""
        inner, of = self(value), value.dtype
        return lambda simt, mask: cast(inner(simt, mask), of, to)

    def select(self, e: Select) -> Code:
        """One of two values; the one not chosen is evaluated under its own mask only."""
        condition, then, otherwise = self(e.condition), self(e.then), self(e.otherwise)
        vector, by_lane = is_vector(e), is_vector(e.condition)
        lazy = touches_memory(e.then) or touches_memory(e.otherwise)
        pointer = isinstance(e.type, PointerType)

        def run(simt: SimtGroup, mask: Mask) -> Value:
            chosen = condition(simt, mask)
            if not by_lane and not varies(chosen):
                return (then if chosen else otherwise)(simt, mask)
            if by_lane or not (lazy or pointer):
                a, b = then(simt, mask), otherwise(simt, mask)
                return choose(chosen, a, b, vector and not by_lane)
            yes, no = mask & chosen, mask & ~chosen
            if not some(no):
                return then(simt, mask)
            if not some(yes):
                return otherwise(simt, mask)
            a, b = then(simt, yes), otherwise(simt, no)
            return simt.pointed(b, a, chosen) if pointer else choose(chosen, a, b, vector)

        return run

    def math(self, e: Math) -> Code:
        """A pure function, by its numpy meaning, rounded to its type."""
        args, apply, of = [self(a) for a in e.args], meaning(e.name), e.of.numpy
        return lambda simt, mask: np.asarray(apply(*(a(simt, mask) for a in args))).astype(of)[()]

    def get(self, e: Get) -> Code:
        """A load that gives zero outside of the shape."""
        inside, address = self.inside(e.tensor, e.index), self.element(e.tensor, e.index, 1)
        of = e.tensor.dtype

        def run(simt: SimtGroup, mask: Mask) -> Value:
            valid = inside(simt, mask)
            if not varies(valid):
                if not valid:
                    return of.numpy.type(0)
                return load(simt, address(simt, mask), of, 1, mask)
            within = mask & valid
            if not some(within):
                return of.numpy.type(0)
            found = load(simt, address(simt, within), of, 1, within)
            return np.where(within, found, of.numpy.type(0))

        return run

    def inside(self, tensor: Var, index: tuple[Expr, ...]) -> Code:
        """Whether an index lies in the shape of a tensor."""
        parts = [self(i) for i in index]
        sizes = [self(wrap(size)) for size in tensor_type(tensor).shape]

        def run(simt: SimtGroup, mask: Mask) -> Value:
            valid: Value = np.True_
            for part, size in zip(parts, sizes, strict=True):
                i, n = part(simt, mask), size(simt, mask)
                valid = valid & (i >= 0) & (i < n)
            return valid

        return run

    def element(self, tensor: Expr, index: tuple[Expr, ...], lanes: int) -> Code:
        """The address of an element; `lanes` elements from it on must be in the shape (0: none)."""
        if isinstance(tensor.type, PointerType):
            return self.behind_pointer(tensor, index)
        found = tensor_type(tensor)
        if len(index) != found.ndim:
            raise BadKernel(f"{tensor} has {found.ndim} dimensions, {len(index)} indices are given")
        base, width = self(tensor), found.dtype.nbytes
        offset = self.offset(tensor, found, index, lanes)
        return lambda simt, mask: base(simt, mask).moved(offset(simt, mask) * width)

    def behind_pointer(self, pointer: Expr, index: tuple[Expr, ...]) -> Code:
        """The address of an element behind a pointer."""
        if len(index) != 1:
            raise BadKernel(f"a pointer takes one index: {pointer} with {len(index)}")
        base, inner, width = self(pointer), self(index[0]), pointer.dtype.nbytes
        return lambda simt, mask: base(simt, mask).moved(wide(inner(simt, mask)) * width)

    def offset(self, tensor: Expr, of: TensorType, index: tuple[Expr, ...], lanes: int) -> Code:
        """The number of elements before the one at `index`, which must lie in the shape."""
        parts = [self(i) for i in index]
        sizes = [self(wrap(size)) for size in of.shape]
        table = owner_table(of)
        layout = None
        if of.layout is not None and table is None:
            layout = self(wrap(of.layout(*index)))

        def run(simt: SimtGroup, mask: Mask) -> Value:
            values = [wide(part(simt, mask)) for part in parts]
            extents = [int(size(simt, mask)) for size in sizes]
            if lanes:
                check_index(simt, tensor, values, extents, lanes, mask)
            if table is not None:
                return table.slot(simt, values, mask)
            if layout is not None:
                return wide(layout(simt, mask))
            total: Value = np.int64(0)
            for value, extent in zip(values, extents, strict=True):
                total = total * extent + value
            return total

        return run

    def reinterpret(self, e: Reinterpret) -> Code:
        """The same bits as another type; the same address as another pointer."""
        inner, to, vector = self(e.value), e.to, is_vector(e.value)
        if isinstance(to, PointerType):
            return inner
        into_vector = isinstance(to, VectorType)
        element = to.element if isinstance(to, VectorType) else to
        return lambda simt, mask: bits_as(inner(simt, mask), element.numpy, vector, into_vector)


def variable(e: Var) -> Code:
    """A variable's value; `Uninitialised` where it has none yet."""

    def run(simt: SimtGroup, mask: Mask) -> Value:
        if e in simt.unset:
            missing = simt.unset[e] & mask
            if some(missing):
                message = f"variable {e.name} is read before it has a value"
                simt.fault(Uninitialised, message, int(np.argmax(missing)))
        try:
            return simt.env[e]
        except KeyError:
            raise BadKernel(f"variable {e.name} is not defined") from None

    return run


def pack(parts: list[Code]) -> Code:
    """A vector of the values of `parts`."""

    def run(simt: SimtGroup, mask: Mask) -> Value:
        values = [part(simt, mask) for part in parts]
        if any(varies(value) for value in values):
            values = [spread(value, simt.count) for value in values]
        return np.stack(values, axis=-1)

    return run


def dot(total: Code, a: Code, b: Code) -> Code:
    """The sums of products of neighbours in each lane: integers wrap as int32 does, floats are
    rounded once."""

    def run(simt: SimtGroup, mask: Mask) -> Value:
        before = total(simt, mask)
        exact = np.int64 if before.dtype == np.int32 else np.float64
        second = np.asarray(b(simt, mask), exact)
        second = second.reshape(*second.shape[:-1], before.shape[-1], -1)
        first = np.asarray(a(simt, mask), exact)
        first = first.reshape(*first.shape[:-1], -1, second.shape[-1])
        return (before + (first * second).sum(-1)).astype(before.dtype)

    return run


def check_index(
    simt: SimtGroup, tensor: Expr, values: list[Value], extents: list[int], lanes: int, mask: Mask
) -> None:
    """`OutOfBounds` where an index of an active row leaves the shape."""
    for axis, (value, extent) in enumerate(zip(values, extents, strict=True)):
        last = lanes - 1 if axis == len(values) - 1 else 0
        bad = (value < 0) | (value + last >= extent)
        if not some(bad):
            continue
        bad = spread(bad, simt.count) & mask
        if not some(bad):
            continue
        row = int(np.argmax(bad))
        index = ", ".join(str(int(rows(v, np.int64(row)))) for v in values)
        shape = ", ".join(map(str, extents))
        width = f":{lanes}" if lanes > 1 else ""
        simt.fault(
            OutOfBounds,
            f"{tensor}[{index}{width}] is outside of the shape ({shape}) in dimension {axis}",
            row,
            GUARD,
        )


def touches_memory(e: Expr) -> bool:
    """Whether evaluating `e` where it is not wanted could fault."""
    return next(find(e, Load), None) is not None or next(find(e, Get), None) is not None


def tensor_type(tensor: Expr) -> TensorType:
    """The type of a tensor variable."""
    found = tensor.type
    if not isinstance(found, TensorType):
        raise BadKernel(f"{tensor} is {found}, not a tensor")
    return found


def wide(value: Value) -> Any:
    """An index as 64-bit, so that byte offsets do not wrap."""
    return value.astype(np.int64)
