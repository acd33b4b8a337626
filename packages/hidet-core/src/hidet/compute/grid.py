"""Grids: what a tensor's elements are, as functions of their index. Definitions are made of them.

    product = grid((m, n), lambda i, j: reduce(k, lambda r: a[i, r] * b[r, j], "sum"))

Grids combine like numpy arrays (`x - x.mean((1,))`), which is sugar over `grid` and `reduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hidet.compute.reduction import How, accumulator, reduce, spelled_ranges
from hidet.compute.sizes import Shape, broadcast, product, same
from hidet.errors import ShapeMismatch
from hidet.ir.expr import Expr, Value, Var, convert, wrap
from hidet.ir.node import Node, node
from hidet.ir.show import Printer
from hidet.ir.walk import find
from hidet.types import DType, Size, TensorType, Type, f32, i32

Operand: TypeAlias = "Grid | Value"


class Grid(Node):
    """An n-dimensional array by definition; `g[i, j]` is its element, as an expression."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def shape(self) -> Shape:
            """The size of each dimension."""

        @property
        def dtype(self) -> DType:
            """The element type."""

        @property
        def name(self) -> str:
            """A name for people."""

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def __getitem__(self, index: Value | tuple[Value, ...]) -> Expr:
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != self.ndim:
            raise ShapeMismatch(f"{len(given)} indices for an array of {self.ndim} dimensions")
        return At(self, tuple(convert(wrap(each), i32) for each in given))

    # Without this, Python would try to iterate by indexing, and never end.
    __iter__ = None

    def cast(self, to: DType) -> Grid:
        """Each element as `to`."""
        return self if self.dtype is to else elementwise(lambda v: v.cast(to), self)

    def reduce(self, axes: Sequence[int], how: How, keepdims: bool = True) -> Grid:
        """The elements combined by `how` over `axes`, which stay as size 1 unless told not to."""
        chosen = sorted(axis % self.ndim for axis in axes)

        def element(*outer: Expr) -> Expr:
            kept = iter(outer)
            fixed = [
                next(kept) if keepdims or axis not in chosen else None for axis in range(self.ndim)
            ]

            def value(*inner: Expr) -> Expr:
                index: list[Any] = list(fixed)
                for axis, e in zip(chosen, inner, strict=True):
                    index[axis] = e
                return self[tuple(index)]

            return reduce([self.shape[axis] for axis in chosen], value, how)

        sizes = [(1 if axis in chosen else size) for axis, size in enumerate(self.shape)]
        if not keepdims:
            sizes = [size for axis, size in enumerate(self.shape) if axis not in chosen]
        return grid(sizes, element)

    def sum(self, axes: Sequence[int], keepdims: bool = True) -> Grid:
        """Sums over `axes`, in the type sums of this type are kept in."""
        return self.cast(accumulator(self.dtype)).reduce(axes, "sum", keepdims)

    def mean(self, axes: Sequence[int], keepdims: bool = True) -> Grid:
        """Means over `axes`, at least float32; NaN of no elements."""
        wide = self if self.dtype.is_float else self.cast(f32)
        count = product(self.shape[axis] for axis in axes)
        sums = wide.sum(axes, keepdims)
        return sums / (float(count) if isinstance(count, int) else count.cast(sums.dtype))

    def max(self, axes: Sequence[int], keepdims: bool = True) -> Grid:
        """The largest elements over `axes`; NaN if there is one."""
        return self.reduce(axes, "max", keepdims)

    def min(self, axes: Sequence[int], keepdims: bool = True) -> Grid:
        """The smallest elements over `axes`; NaN if there is one."""
        return self.reduce(axes, "min", keepdims)

    def __add__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a + b, self, other)

    def __radd__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: b + a, self, other)

    def __sub__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a - b, self, other)

    def __rsub__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: b - a, self, other)

    def __mul__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a * b, self, other)

    def __rmul__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: b * a, self, other)

    def __truediv__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a / b, self, other)

    def __rtruediv__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: b / a, self, other)

    def __floordiv__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a // b, self, other)

    def __mod__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a % b, self, other)

    def __lt__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a < b, self, other)

    def __le__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a <= b, self, other)

    def __gt__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a > b, self, other)

    def __ge__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a >= b, self, other)

    def eq(self, other: Operand) -> Grid:
        """Where the elements are equal."""
        return elementwise(lambda a, b: a.eq(b), self, other)

    def ne(self, other: Operand) -> Grid:
        """Where the elements differ."""
        return elementwise(lambda a, b: a.ne(b), self, other)

    def __and__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a & b, self, other)

    def __or__(self, other: Operand) -> Grid:
        return elementwise(lambda a, b: a | b, self, other)

    def __invert__(self) -> Grid:
        return elementwise(lambda a: ~a, self)

    def __neg__(self) -> Grid:
        return elementwise(lambda a: -a, self)


@node
class Input(Grid):
    """An operand of a definition."""

    name: str
    type: TensorType

    @property
    def shape(self) -> Shape:
        """The operand's shape."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The operand's element type."""
        return self.type.dtype

    def show(self) -> str:
        """As text."""
        return f"{self.name}: {self.type}"


@node
class Computed(Grid):
    """The element at `vars` is `value`."""

    shape: Shape
    vars: tuple[Var, ...]
    value: Expr
    name: str = ""

    @property
    def dtype(self) -> DType:
        """The value's type."""
        return self.value.dtype

    def show(self) -> str:
        """As text: `[i < 2, j < 3: x[i, j]]`."""
        ranges, printer = scope(self.vars, self.shape, self.value)
        return f"[{ranges}: {printer.expr(self.value)}]"


ScanHow: TypeAlias = Literal["sum", "prod", "min", "max"]


@node
class Scan(Grid):
    """Running combinations along `axis`: element n combines the source's elements 0 to n."""

    source: Grid
    axis: int
    how: ScanHow
    name: str = ""

    @property
    def shape(self) -> Shape:
        """The source's shape."""
        return self.source.shape

    @property
    def dtype(self) -> DType:
        """The source's type."""
        return self.source.dtype

    def show(self) -> str:
        """As text."""
        return f"scan({self.source}, axis={self.axis}, {self.how})"


Rule: TypeAlias = Literal["set_last", "set_one", "add", "mul", "min", "max"]


@node
class Scatter(Grid):
    """`base`, with an update for each value of `vars` below `extents` at `index`.

    Where several updates meet, `set_last` keeps that of the greatest `vars` in row-major order,
    `set_one` any of them; the other rules combine them with each other and with the base. Updates
    whose index lies outside of the base are dropped. `in_place` says that the result lies where the
    base lies.
    """

    base: Grid
    vars: tuple[Var, ...]
    extents: Shape
    index: tuple[Expr, ...]
    value: Expr
    rule: Rule
    name: str = ""
    in_place: bool = False

    @property
    def shape(self) -> Shape:
        """The base's shape."""
        return self.base.shape

    @property
    def dtype(self) -> DType:
        """The base's type."""
        return self.base.dtype

    def show(self) -> str:
        """As text."""
        ranges, printer = scope(self.vars, self.extents, *self.index, self.value)
        index, value = printer.exprs(self.index), printer.expr(self.value)
        return f"scatter({self.base}, {ranges}: [{index}] {self.rule} {value})"


@node
class At(Expr):
    """The element of `grid` at `index` (i32 each)."""

    grid: Grid
    index: tuple[Expr, ...]

    def infer(self) -> Type:
        return self.grid.dtype

    def show(self, printer: Any) -> str:
        """As text: `x[i, j]`; a grid without a name is shown whole."""
        name = self.grid.name or f"({self.grid})"
        return f"{name}[{printer.exprs(self.index)}]"


def scope(names: Sequence[Var], sizes: Shape, *values: Expr) -> tuple[str, Printer]:
    """Index ranges as text, and what prints `values`; grids that they read have their own names."""
    printer = Printer([*names, *values], find(values, Grid))
    return spelled_ranges(names, sizes, printer), printer


def grid(shape: Sequence[Size], fn: Callable[..., Value], name: str = "") -> Computed:
    """The array of `shape` whose element at (i, j, ...) is `fn(i, j, ...)`."""
    names = tuple(Var(f"i{position}", i32) for position in range(len(shape)))
    return Computed(tuple(shape), names, wrap(fn(*names)), name)


def scan(source: Grid, axis: int, how: ScanHow) -> Scan:
    """Running sums, products or extremes along `axis`."""
    return Scan(source, axis % source.ndim, how)


def scatter(
    base: Grid,
    shape: Sequence[Size],
    index: Callable[..., Sequence[Value]],
    value: Callable[..., Value],
    rule: Rule,
    in_place: bool = False,
) -> Scatter:
    """`base` updated at `index(u, ...)` with `value(u, ...)` for each (u, ...) below `shape`."""
    names = tuple(Var(f"u{position}", i32) for position in range(len(shape)))
    where = tuple(convert(wrap(each), i32) for each in index(*names))
    new = convert(wrap(value(*names)), base.dtype)
    return Scatter(base, names, tuple(shape), where, new, rule, in_place=in_place)


def elementwise(fn: Callable[..., Value], *operands: Operand) -> Computed:
    """`fn` of the operands' elements, broadcast together; numbers and expressions as they are."""
    shape = broadcast(*(each.shape for each in operands if isinstance(each, Grid)))

    def element(*index: Expr) -> Value:
        return fn(*(spread(each, index, shape) for each in operands))

    return grid(shape, element)


def spread(operand: Operand, index: Sequence[Expr], shape: Shape) -> Value:
    """The element that an operand contributes at `index` of the broadcast `shape`."""
    if not isinstance(operand, Grid):
        return operand
    skipped = len(shape) - operand.ndim
    return operand[
        tuple(
            0 if same(size, 1) and not same(shape[skipped + axis], 1) else index[skipped + axis]
            for axis, size in enumerate(operand.shape)
        )
    ]
