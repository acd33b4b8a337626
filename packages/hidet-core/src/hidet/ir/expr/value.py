"""What every expression can do, and how Python's operators build one of two values.

An operator brings its operands to one type and finds the node class by its symbol: classes enter
the tables `UNARY` and `BINARY` as they are defined, in `arithmetic`.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias, cast

import numpy as np

from hidet.errors import BadKernel, DtypeMismatch
from hidet.ir.node import Node, node
from hidet.types import (
    DType,
    PointerType,
    TensorMapType,
    TensorType,
    Type,
    VectorType,
    boolean,
    f32,
    i32,
    i64,
    promote,
)

Value: TypeAlias = "Expr | int | float | bool"
"""What may stand where an expression is wanted: Python numbers become constants."""


class Expr(Node):
    """A value; `type` says of which type."""

    __slots__ = ("_type",)
    interned: ClassVar[bool] = True
    _type: Type

    @property
    def type(self) -> Type:
        """The type of the value, computed once."""
        try:
            return self._type
        except AttributeError:
            object.__setattr__(self, "_type", self.infer())
            return self._type

    @property
    def dtype(self) -> DType:
        """The element type of a scalar, vector or tensor."""
        found = self.type
        if type(found) is DType:
            return found
        match found:
            case VectorType(element=element):
                return element
            case TensorType(dtype=element):
                return element
            case PointerType(to=element):
                return element
            case TensorMapType(dtype=element):
                return element
        raise BadKernel(f"{self} has no element type")

    def __reduce__(self) -> tuple[object, ...]:
        # For sizes in the types of operators; in one pickle a variable stays one.
        return type(self), self.values()

    def infer(self) -> Type:
        """The type of this node, from its fields."""
        raise NotImplementedError(type(self).__name__)

    def __add__(self, other: Value) -> Expr:
        return combine(BINARY["+"], self, other)

    def __radd__(self, other: Value) -> Expr:
        return combine(BINARY["+"], other, self)

    def __sub__(self, other: Value) -> Expr:
        return combine(BINARY["-"], self, other)

    def __rsub__(self, other: Value) -> Expr:
        return combine(BINARY["-"], other, self)

    def __mul__(self, other: Value) -> Expr:
        return combine(BINARY["*"], self, other)

    def __rmul__(self, other: Value) -> Expr:
        return combine(BINARY["*"], other, self)

    def __truediv__(self, other: Value) -> Expr:
        return combine(BINARY["/"], self, other)

    def __rtruediv__(self, other: Value) -> Expr:
        return combine(BINARY["/"], other, self)

    def __floordiv__(self, other: Value) -> Expr:
        return combine(BINARY["//"], self, other)

    def __rfloordiv__(self, other: Value) -> Expr:
        return combine(BINARY["//"], other, self)

    def __mod__(self, other: Value) -> Expr:
        return combine(BINARY["%"], self, other)

    def __rmod__(self, other: Value) -> Expr:
        return combine(BINARY["%"], other, self)

    def __lt__(self, other: Value) -> Expr:
        return combine(BINARY["<"], self, other)

    def __le__(self, other: Value) -> Expr:
        return combine(BINARY["<="], self, other)

    def __gt__(self, other: Value) -> Expr:
        return combine(BINARY["<"], other, self)

    def __ge__(self, other: Value) -> Expr:
        return combine(BINARY["<="], other, self)

    def eq(self, other: Value) -> Expr:
        """Whether the values are equal; NaN is not equal to itself."""
        return combine(BINARY["=="], self, other)

    def ne(self, other: Value) -> Expr:
        """Whether the values differ."""
        return combine(BINARY["!="], self, other)

    def __and__(self, other: Value) -> Expr:
        return bitwise_or_logical("&", "and", self, other)

    def __rand__(self, other: Value) -> Expr:
        return bitwise_or_logical("&", "and", other, self)

    def __or__(self, other: Value) -> Expr:
        return bitwise_or_logical("|", "or", self, other)

    def __ror__(self, other: Value) -> Expr:
        return bitwise_or_logical("|", "or", other, self)

    def __xor__(self, other: Value) -> Expr:
        return bitwise_or_logical("^", "!=", self, other)

    def __rxor__(self, other: Value) -> Expr:
        return bitwise_or_logical("^", "!=", other, self)

    def __lshift__(self, other: Value) -> Expr:
        return combine(BINARY["<<"], self, other)

    def __rshift__(self, other: Value) -> Expr:
        return combine(BINARY[">>"], self, other)

    def __neg__(self) -> Expr:
        return UNARY["-"](self)

    def __invert__(self) -> Expr:
        return UNARY["not " if self.type is boolean else "~"](self)

    def cast(self, to: DType) -> Expr:
        """The value as `to`: floats to integers toward zero, anything to bool by `!= 0`."""
        return convert(self, to)

    def __bool__(self) -> bool:
        raise TypeError(
            f"the value of `{self}` is not known until the kernel runs; compare with .eq(), "
            "choose with select(), combine with & and |, or write a script `if`"
        )


@node
class Const(Expr):
    """A number of a given type."""

    value: int | float | bool
    of: DType

    def infer(self) -> Type:
        return self.of


@node
class Unary(Expr):
    """One operand, same type."""

    a: Expr
    symbol: ClassVar[str]

    def __init_subclass__(cls) -> None:
        UNARY[cls.symbol] = cls

    def infer(self) -> Type:
        return self.a.type


@node
class Binary(Expr):
    """Two operands of one type, result of that type."""

    a: Expr
    b: Expr
    symbol: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "symbol" in vars(cls):
            BINARY[cls.symbol] = cls

    def infer(self) -> Type:
        return self.a.type


UNARY: dict[str, type[Unary]] = {}
"""The operators of one operand, by symbol."""
BINARY: dict[str, type[Binary]] = {}
"""The operators of two operands, by symbol."""


@node
class Cast(Expr):
    """`value` as another element type (lane by lane for vectors)."""

    value: Expr
    to: DType

    def infer(self) -> Type:
        if isinstance(self.value.type, VectorType):
            return VectorType(self.to, self.value.type.lanes)
        return self.to


@node
class Splat(Expr):
    """A vector with `value` in each of `lanes` lanes."""

    value: Expr
    lanes: int

    def infer(self) -> Type:
        return VectorType(self.value.dtype, self.lanes)


def is_vector(e: Expr) -> bool:
    """Whether the value is a vector."""
    return isinstance(e.type, VectorType)


def wrap(value: Value, like: DType | None = None) -> Expr:
    """`value` as an expression: Python numbers become constants, of type `like` if they fit it."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return truth(value, like)
    of = natural(value, like)
    return Const(float(value) if of.is_float else int(value), of)


def truth(value: bool, like: DType | None) -> Const:
    """A constant bool, or 0/1 of another type."""
    if like is None or like.is_bool:
        return Const(value, boolean)
    return Const(float(value) if like.is_float else int(value), like)


def natural(value: int | float, like: DType | None) -> DType:
    """The type a Python number takes beside an operand of type `like`."""
    if isinstance(value, float):
        return like if like is not None and like.is_float else f32
    if like is not None and (like.is_float or like.is_integer):
        low, high = like.limits
        if like.is_float or low <= value <= high:
            return like
    return i32 if -(2**31) <= value < 2**31 else i64


def constant(value: int | float | bool, of: DType) -> Const:
    """The number as a constant of type `of`, rounded or wrapped to what `of` can hold."""
    if type(value) is int and of.is_integer and of.limits[0] <= value <= of.limits[1]:
        return Const(value, of)
    stored = np.asarray(value).astype(of.numpy)
    if of.is_bool:
        return Const(bool(stored), of)
    return Const(float(stored), of) if of.is_float else Const(int(stored), of)


def combine(kind: type[Binary], a: Value, b: Value) -> Expr:
    """`kind(a, b)` with both operands brought to one type."""
    for value in (a, b):
        if not isinstance(value, Expr | int | float):
            return NotImplemented
    left, right = unify(a, b)
    if kind.symbol == "/" and not left.dtype.is_float:
        left, right = convert(left, f32), convert(right, f32)
    return kind(left, right)


def unify(a: Value, b: Value) -> tuple[Expr, Expr]:
    """Both values at the type that fits both; a scalar beside a vector is spread over its lanes."""
    left = wrap(a, b.dtype if isinstance(b, Expr) else None)
    right = wrap(b, left.dtype)
    for e in (left, right):
        if isinstance(e.type, TensorType | PointerType):
            raise DtypeMismatch(f"`{e}` is {e.type}, not a number", help="index it first")
    common = promote(left.dtype, right.dtype)
    left, right = convert(left, common), convert(right, common)
    if is_vector(left) and not is_vector(right):
        right = Splat(right, cast(VectorType, left.type).lanes)
    if is_vector(right) and not is_vector(left):
        left = Splat(left, cast(VectorType, right.type).lanes)
    return left, right


def bitwise_or_logical(bits: str, logic: str, a: Value, b: Value) -> Expr:
    """`logic` on truth values, `bits` on integers; a Python bool is a mistake in a definition."""
    if isinstance(a, bool) or isinstance(b, bool):
        raise TypeError(
            "a Python bool beside an expression: `==` is identity here, use .eq() to compare"
        )
    if not isinstance(a, Expr | int) or not isinstance(b, Expr | int):
        return cast(Expr, NotImplemented)
    left, right = unify(a, b)
    if left.dtype.is_float:
        raise DtypeMismatch(f"{bits} takes integers or bools, not {left.dtype}")
    return BINARY[logic if left.dtype.is_bool else bits](left, right)


def convert(e: Expr, to: DType) -> Expr:
    """`e` as element type `to`; constants at once, the same type unchanged."""
    if e.dtype is to:
        return e
    if isinstance(e, Const):
        return constant(e.value, to)
    return Cast(e, to)
