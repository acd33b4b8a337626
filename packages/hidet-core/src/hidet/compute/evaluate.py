"""The plain meaning of definitions, in numpy on whole arrays: what all others must agree with.

Each index variable is an array along an axis of its own; reduction variables get new leading axes.
Reading outside of an array is an error wherever the value is really used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hidet.compute.definition import Definition
from hidet.compute.grid import At, Computed, Grid, Input, Scan, Scatter
from hidet.compute.reduction import ArgReduce, Reduce
from hidet.errors import InternalError, ShapeMismatch
from hidet.ir import expr as ir
from hidet.ir.expr import Expr, Var
from hidet.ir.functions import FUNCTIONS
from hidet.types import DType, Size

Array = Any

BINARY: dict[type, Callable[[Array, Array], Array]] = {
    ir.Add: np.add,
    ir.Sub: np.subtract,
    ir.Mul: np.multiply,
    ir.Div: np.divide,
    ir.FloorDiv: np.floor_divide,
    ir.FloorMod: np.mod,
    ir.TruncDiv: lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
    ir.TruncMod: np.fmod,
    ir.Minimum: np.minimum,
    ir.Maximum: np.maximum,
    ir.BitAnd: np.bitwise_and,
    ir.BitOr: np.bitwise_or,
    ir.BitXor: np.bitwise_xor,
    ir.ShiftLeft: np.left_shift,
    ir.ShiftRight: np.right_shift,
    ir.Less: np.less,
    ir.LessEqual: np.less_equal,
    ir.Equal: np.equal,
    ir.NotEqual: np.not_equal,
}
UNARY: dict[type, Callable[[Array], Array]] = {
    ir.Negate: np.negative,
    ir.Not: np.logical_not,
    ir.BitNot: np.invert,
}
COMBINE: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}
UPDATE: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def evaluate(definition: Definition, *arrays: Array) -> tuple[Array, ...]:
    """The results of a definition for the operands' values, each step rounded to its type."""
    if len(arrays) != len(definition.inputs):
        raise ShapeMismatch(f"{len(arrays)} arrays for {len(definition.inputs)} operands")
    run = Run(dict(zip(definition.inputs, arrays, strict=True)))
    with np.errstate(all="ignore"):
        return tuple(run.grid(each) for each in definition.outputs)


class Run:
    """One evaluation: the arrays of the grids computed so far, and the values of symbols."""

    def __init__(self, operands: Mapping[Input, Array]) -> None:
        self.symbols: dict[Var, Array] = {}
        self.done: dict[Grid, Array] = {}
        for operand, array in operands.items():
            self.bind(operand, np.asarray(array))

    def bind(self, operand: Input, array: Array) -> None:
        """Take an operand's array, and from its shape the symbols of the operand's shape."""
        if array.ndim != operand.ndim:
            raise ShapeMismatch(f"operand {operand} got an array of shape {array.shape}")
        for size, actual in zip(operand.shape, array.shape, strict=True):
            if isinstance(size, Var):
                self.symbols[size] = np.int32(actual)
        self.done[operand] = array.astype(operand.dtype.numpy)

    def size(self, size: Size) -> int:
        """A size as a number."""
        return size if isinstance(size, int) else int(Scope(self, {}).value(size))

    def grid(self, grid: Grid) -> Array:
        """The array of a grid, computed once."""
        if grid not in self.done:
            match grid:
                case Computed():
                    self.done[grid] = self.computed(grid)
                case Scan(source, axis, how):
                    array = self.grid(source)
                    self.done[grid] = COMBINE[how].accumulate(array, axis=axis, dtype=array.dtype)
                case Scatter():
                    self.done[grid] = self.scattered(grid)
                case _:
                    raise InternalError(f"operand {grid} was given no array")
        return self.done[grid]

    def computed(self, grid: Computed) -> Array:
        """Every element at once."""
        shape = tuple(map(self.size, grid.shape))
        scope = Scope(self, axes(grid.vars, shape))
        return np.broadcast_to(scope.value(grid.value), shape).astype(grid.dtype.numpy)

    def scattered(self, grid: Scatter) -> Array:
        """The base, updated in row-major order of the updates."""
        shape = tuple(map(self.size, grid.extents))
        scope = Scope(self, axes(grid.vars, shape))
        out = np.array(self.grid(grid.base))
        value = np.broadcast_to(scope.value(grid.value), shape).ravel()
        index = [np.broadcast_to(scope.value(e), shape).ravel() for e in grid.index]
        inside = np.ones(value.shape, bool)
        for e, size in zip(index, out.shape, strict=True):
            inside &= (e >= 0) & (e < size)
        where = tuple(e[inside] for e in index)
        if grid.rule in ("set_last", "set_one"):
            for position, new in zip(zip(*where, strict=True), value[inside], strict=True):
                out[position] = new
        else:
            UPDATE[grid.rule].at(out, where, value[inside])
        return out


def axes(names: Sequence[Var], shape: Sequence[int], below: int = 0) -> dict[Var, Array]:
    """Each variable's values along its own axis, with `below` further axes after them."""
    rank = len(names)
    return {
        var: np.arange(size, dtype=np.int32).reshape((-1,) + (1,) * (rank - 1 - axis + below))
        for axis, (var, size) in enumerate(zip(names, shape, strict=True))
    }


class Scope:
    """Expressions under given variables, where `active`; reductions and branches open new ones."""

    def __init__(
        self, run: Run, values: dict[Var, Array], outer: Scope | None = None, active: Array = True
    ) -> None:
        self.run, self.outer, self.active = run, outer, active
        self.memo: dict[Expr, Array] = {var: array for var, array in values.items()}
        own = max((array.ndim for array in values.values()), default=0)
        self.depth: int = max(own, outer.depth if outer else 0)

    def known(self, e: Expr) -> Array | None:
        """The value if it was computed here or around here."""
        scope: Scope | None = self
        while scope is not None:
            if e in scope.memo:
                return scope.memo[e]
            scope = scope.outer
        return self.run.symbols.get(e) if isinstance(e, Var) else None

    def value(self, e: Expr) -> Array:
        """The expression's value for all values of the variables."""
        found = self.known(e)
        if found is None:
            found = self.memo[e] = self.fresh(e)
        return found

    def where(self, active: Array) -> Scope:
        """This scope, where `active` holds too."""
        return Scope(self.run, {}, self, np.logical_and(self.active, active))

    def fresh(self, e: Expr) -> Array:
        """The expression's value, computed."""
        match e:
            case Reduce() | ArgReduce():
                return self.reduced(e)
            case At(grid, index):
                return self.at(self.run.grid(grid), [self.value(i) for i in index], e)
            case ir.And(a, b):
                first = self.value(a)
                return np.logical_and(first, self.where(first).value(b))
            case ir.Or(a, b):
                first = self.value(a)
                return np.logical_or(first, self.where(np.logical_not(first)).value(b))
            case ir.Select(condition, then, otherwise):
                chosen = self.value(condition)
                other = self.where(np.logical_not(chosen)).value(otherwise)
                return np.where(chosen, self.where(chosen).value(then), other)
        return self.scalar(e)

    def scalar(self, e: Expr) -> Array:
        """Arithmetic on scalars."""
        to = e.dtype.numpy
        match e:
            case ir.Const(value):
                return np.asarray(value, to)
            case ir.Cast(value):
                return converted(self.value(value), e.to)
            case ir.Reinterpret(value):
                return np.asarray(self.value(value)).view(to)
            case ir.Math(name, args):
                return np.asarray(FUNCTIONS[name].numpy(*map(self.value, args))).astype(to)
            case ir.Binary(a, b) if type(e) in BINARY:
                return np.asarray(BINARY[type(e)](self.value(a), self.value(b))).astype(to)
            case ir.Unary(a) if type(e) in UNARY:
                return np.asarray(UNARY[type(e)](self.value(a))).astype(to)
        raise InternalError(f"`{e}` has no place in a definition")

    def at(self, array: Array, index: list[Array], e: Expr) -> Array:
        """Elements of an array; reading outside of it is a defect of the definition."""
        inside: list[Array] = []
        for position, size in zip(index, array.shape, strict=True):
            outside = np.logical_or(position < 0, position >= size)
            if np.any(np.logical_and(outside, self.active)):
                raise InternalError(f"`{e}` reads outside of an array of shape {array.shape}")
            inside.append(np.where(outside, 0, position))
        if array.size:
            return array[tuple(inside)]
        return np.zeros(np.broadcast_shapes(*(np.shape(each) for each in inside)), array.dtype)

    def reduced(self, e: Reduce | ArgReduce) -> Array:
        """A reduction over new leading axes."""
        shape = tuple(map(self.run.size, e.extents))
        inner = Scope(self.run, axes(e.vars, shape, self.depth), self, self.active)
        value = np.asarray(inner.value(e.value))
        full = np.broadcast_to(value, np.broadcast_shapes(value.shape, shape + (1,) * self.depth))
        flat = full.reshape((int(np.prod(shape)), *full.shape[len(shape) :]))
        if isinstance(e, ArgReduce):
            return (np.argmin if e.how == "min" else np.argmax)(flat, axis=0).astype(np.int64)
        start = np.full(flat.shape[1:], e.identity.value, flat.dtype)
        ufunc = COMBINE[e.how]
        return ufunc(start, ufunc.reduce(flat, axis=0, dtype=flat.dtype)) if len(flat) else start


def converted(value: Array, to: DType) -> Array:
    """A cast: to bool by `!= 0`, else as numpy does."""
    return np.asarray(value != 0) if to.is_bool else np.asarray(value).astype(to.numpy)
