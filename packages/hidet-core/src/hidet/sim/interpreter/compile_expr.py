"""Expressions to closures: `(gang, mask) -> value`. Only rows in the mask are sure to mean much."""

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
from hidet.sim.threads.gang import Gang
from hidet.sim.threads.spread import owner_table
from hidet.sim.values import Mask, Value, bits_as, choose, rows, some, spread, varies
from hidet.types import DType, PointerType, TensorType, VectorType

Code: TypeAlias = Callable[[Gang, Mask], Value]


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
                return lambda gang, mask: number
            case Builtin(name):
                return lambda gang, mask: special(gang, name)
            case And() | Or():
                return self.logical(e)
            case Binary():
                return self.binary(e)
            case Unary(a):
                inner, apply = self(a), UNARY[type(e)]
                return lambda gang, mask: apply(inner(gang, mask))
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
                return lambda gang, mask: load(gang, address(gang, mask), of, lanes, mask)
            case Get():
                return self.get(e)
            case Address(tensor, index):
                return self.element(tensor, index, 0)
            case Pack(lanes=parts):
                return pack([self(part) for part in parts])
            case Splat(value, lanes):
                inner = self(value)
                return lambda gang, mask: np.repeat(
                    np.asarray(inner(gang, mask))[..., None], lanes, -1
                )
            case Lane(vector, lane):
                inner = self(vector)
                return lambda gang, mask: inner(gang, mask)[..., lane]
            case Reinterpret():
                return self.reinterpret(e)
            case Dot(total, a, b):
                return dot(self(total), self(a), self(b))
        raise BadKernel(f"the simulator does not know {type(e).__name__} expressions: {e}")

    def binary(self, e: Binary) -> Code:
        """An operation on two operands of one type."""
        left, right, apply = self(e.a), self(e.b), BINARY[type(e)]
        return lambda gang, mask: apply(left(gang, mask), right(gang, mask))

    def logical(self, e: Binary) -> Code:
        """`and`, `or`: the second operand is evaluated only where it decides."""
        left, right, decided = self(e.a), self(e.b), isinstance(e, Or)
        join = np.logical_or if decided else np.logical_and
        if not touches_memory(e.b):
            return lambda gang, mask: join(left(gang, mask), right(gang, mask))

        def run(gang: Gang, mask: Mask) -> Value:
            first = left(gang, mask)
            open_ = mask & (~first if decided else first)
            return join(first, right(gang, open_)) if some(open_) else first

        return run

    def converted(self, value: Expr, to: DType) -> Code:
        """A cast to another element type."""
        inner, of = self(value), value.dtype
        return lambda gang, mask: cast(inner(gang, mask), of, to)

    def select(self, e: Select) -> Code:
        """One of two values; the one not chosen is evaluated under its own mask only."""
        condition, then, otherwise = self(e.condition), self(e.then), self(e.otherwise)
        vector, by_lane = is_vector(e), is_vector(e.condition)
        lazy = touches_memory(e.then) or touches_memory(e.otherwise)
        pointer = isinstance(e.type, PointerType)

        def run(gang: Gang, mask: Mask) -> Value:
            chosen = condition(gang, mask)
            if not by_lane and not varies(chosen):
                return (then if chosen else otherwise)(gang, mask)
            if by_lane or not (lazy or pointer):
                a, b = then(gang, mask), otherwise(gang, mask)
                return choose(chosen, a, b, vector and not by_lane)
            yes, no = mask & chosen, mask & ~chosen
            if not some(no):
                return then(gang, mask)
            if not some(yes):
                return otherwise(gang, mask)
            a, b = then(gang, yes), otherwise(gang, no)
            return gang.pointed(b, a, chosen) if pointer else choose(chosen, a, b, vector)

        return run

    def math(self, e: Math) -> Code:
        """A pure function, by its numpy meaning, rounded to its type."""
        args, apply, of = [self(a) for a in e.args], meaning(e.name), e.of.numpy
        return lambda gang, mask: np.asarray(apply(*(a(gang, mask) for a in args))).astype(of)[()]

    def get(self, e: Get) -> Code:
        """A load that gives zero outside of the shape."""
        inside, address = self.inside(e.tensor, e.index), self.element(e.tensor, e.index, 1)
        of = e.tensor.dtype

        def run(gang: Gang, mask: Mask) -> Value:
            valid = inside(gang, mask)
            if not varies(valid):
                if not valid:
                    return of.numpy.type(0)
                return load(gang, address(gang, mask), of, 1, mask)
            within = mask & valid
            if not some(within):
                return of.numpy.type(0)
            found = load(gang, address(gang, within), of, 1, within)
            return np.where(within, found, of.numpy.type(0))

        return run

    def inside(self, tensor: Var, index: tuple[Expr, ...]) -> Code:
        """Whether an index lies in the shape of a tensor."""
        parts = [self(i) for i in index]
        sizes = [self(wrap(size)) for size in tensor_type(tensor).shape]

        def run(gang: Gang, mask: Mask) -> Value:
            valid: Value = np.True_
            for part, size in zip(parts, sizes, strict=True):
                i, n = part(gang, mask), size(gang, mask)
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
        return lambda gang, mask: base(gang, mask).moved(offset(gang, mask) * width)

    def behind_pointer(self, pointer: Expr, index: tuple[Expr, ...]) -> Code:
        """The address of an element behind a pointer."""
        if len(index) != 1:
            raise BadKernel(f"a pointer takes one index: {pointer} with {len(index)}")
        base, inner, width = self(pointer), self(index[0]), pointer.dtype.nbytes
        return lambda gang, mask: base(gang, mask).moved(wide(inner(gang, mask)) * width)

    def offset(self, tensor: Expr, of: TensorType, index: tuple[Expr, ...], lanes: int) -> Code:
        """The number of elements before the one at `index`, which must lie in the shape."""
        parts = [self(i) for i in index]
        sizes = [self(wrap(size)) for size in of.shape]
        table = owner_table(of)
        layout = None
        if of.layout is not None and table is None:
            layout = self(wrap(of.layout(*index)))

        def run(gang: Gang, mask: Mask) -> Value:
            values = [wide(part(gang, mask)) for part in parts]
            extents = [int(size(gang, mask)) for size in sizes]
            if lanes:
                check_index(gang, tensor, values, extents, lanes, mask)
            if table is not None:
                return table.slot(gang, values, mask)
            if layout is not None:
                return wide(layout(gang, mask))
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
        return lambda gang, mask: bits_as(inner(gang, mask), element.numpy, vector, into_vector)


def variable(e: Var) -> Code:
    """A variable's value; `Uninitialised` where it has none yet."""

    def run(gang: Gang, mask: Mask) -> Value:
        if e in gang.unset:
            missing = gang.unset[e] & mask
            if some(missing):
                message = f"variable {e.name} is read before it has a value"
                gang.fault(Uninitialised, message, int(np.argmax(missing)))
        try:
            return gang.env[e]
        except KeyError:
            raise BadKernel(f"variable {e.name} is not defined") from None

    return run


def pack(parts: list[Code]) -> Code:
    """A vector of the values of `parts`."""

    def run(gang: Gang, mask: Mask) -> Value:
        values = [part(gang, mask) for part in parts]
        if any(varies(value) for value in values):
            values = [spread(value, gang.count) for value in values]
        return np.stack(values, axis=-1)

    return run


def dot(total: Code, a: Code, b: Code) -> Code:
    """The sums of products of neighbours in each lane: integers wrap as int32 does, floats are
    rounded once."""

    def run(gang: Gang, mask: Mask) -> Value:
        before = total(gang, mask)
        exact = np.int64 if before.dtype == np.int32 else np.float64
        second = np.asarray(b(gang, mask), exact)
        second = second.reshape(*second.shape[:-1], before.shape[-1], -1)
        first = np.asarray(a(gang, mask), exact)
        first = first.reshape(*first.shape[:-1], -1, second.shape[-1])
        return (before + (first * second).sum(-1)).astype(before.dtype)

    return run


def check_index(
    gang: Gang, tensor: Expr, values: list[Value], extents: list[int], lanes: int, mask: Mask
) -> None:
    """`OutOfBounds` where an index of an active row leaves the shape."""
    for axis, (value, extent) in enumerate(zip(values, extents, strict=True)):
        last = lanes - 1 if axis == len(values) - 1 else 0
        bad = (value < 0) | (value + last >= extent)
        if not some(bad):
            continue
        bad = spread(bad, gang.count) & mask
        if not some(bad):
            continue
        row = int(np.argmax(bad))
        index = ", ".join(str(int(rows(v, np.int64(row)))) for v in values)
        shape = ", ".join(map(str, extents))
        width = f":{lanes}" if lanes > 1 else ""
        gang.fault(
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
