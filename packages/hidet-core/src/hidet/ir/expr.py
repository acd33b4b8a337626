"""Expressions: values without effects.

Python's operators build them; `==` does not (it is identity: use `.eq`), and an expression has no
truth value. Operands are brought to one type when they are combined, so that the operands of every
binary node agree.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias, cast

import numpy as np

from hidet.errors import BadKernel, DtypeMismatch
from hidet.ir.node import Node, node
from hidet.types import (
    DType,
    PointerType,
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
        match found:
            case DType():
                return found
            case VectorType(element=element):
                return element
            case TensorType(dtype=element):
                return element
            case PointerType(to=element):
                return element
        raise BadKernel(f"{self} has no element type")

    def infer(self) -> Type:
        """The type of this node, from its fields."""
        raise NotImplementedError(type(self).__name__)

    def __add__(self, other: Value) -> Expr:
        return combine(Add, self, other)

    def __radd__(self, other: Value) -> Expr:
        return combine(Add, other, self)

    def __sub__(self, other: Value) -> Expr:
        return combine(Sub, self, other)

    def __rsub__(self, other: Value) -> Expr:
        return combine(Sub, other, self)

    def __mul__(self, other: Value) -> Expr:
        return combine(Mul, self, other)

    def __rmul__(self, other: Value) -> Expr:
        return combine(Mul, other, self)

    def __truediv__(self, other: Value) -> Expr:
        return combine(Div, self, other)

    def __rtruediv__(self, other: Value) -> Expr:
        return combine(Div, other, self)

    def __floordiv__(self, other: Value) -> Expr:
        return combine(FloorDiv, self, other)

    def __rfloordiv__(self, other: Value) -> Expr:
        return combine(FloorDiv, other, self)

    def __mod__(self, other: Value) -> Expr:
        return combine(FloorMod, self, other)

    def __rmod__(self, other: Value) -> Expr:
        return combine(FloorMod, other, self)

    def __lt__(self, other: Value) -> Expr:
        return combine(Less, self, other)

    def __le__(self, other: Value) -> Expr:
        return combine(LessEqual, self, other)

    def __gt__(self, other: Value) -> Expr:
        return combine(Less, other, self)

    def __ge__(self, other: Value) -> Expr:
        return combine(LessEqual, other, self)

    def eq(self, other: Value) -> Expr:
        """Whether the values are equal; NaN is not equal to itself."""
        return combine(Equal, self, other)

    def ne(self, other: Value) -> Expr:
        """Whether the values differ."""
        return combine(NotEqual, self, other)

    def __and__(self, other: Value) -> Expr:
        return bitwise_or_logical(BitAnd, And, self, other)

    def __rand__(self, other: Value) -> Expr:
        return bitwise_or_logical(BitAnd, And, other, self)

    def __or__(self, other: Value) -> Expr:
        return bitwise_or_logical(BitOr, Or, self, other)

    def __ror__(self, other: Value) -> Expr:
        return bitwise_or_logical(BitOr, Or, other, self)

    def __xor__(self, other: Value) -> Expr:
        return bitwise_or_logical(BitXor, NotEqual, self, other)

    def __rxor__(self, other: Value) -> Expr:
        return bitwise_or_logical(BitXor, NotEqual, other, self)

    def __lshift__(self, other: Value) -> Expr:
        return combine(ShiftLeft, self, other)

    def __rshift__(self, other: Value) -> Expr:
        return combine(ShiftRight, self, other)

    def __neg__(self) -> Expr:
        return Negate(self)

    def __invert__(self) -> Expr:
        return Not(self) if self.type is boolean else BitNot(self)

    def cast(self, to: DType) -> Expr:
        """The value as `to`: floats to integers toward zero, anything to bool by `!= 0`."""
        return convert(self, to)

    def __bool__(self) -> bool:
        raise TypeError(
            f"the value of `{self}` is not known until the kernel runs; compare with .eq(), "
            "choose with select(), combine with & and |, or write a script `if`"
        )


# ---- leaves --------------------------------------------------------------------------------------


@node
class Var(Expr):
    """A name for a value, a tensor or a size. Two variables are one only if they are one object."""

    interned: ClassVar[bool] = False
    name: str
    of: Type

    def infer(self) -> Type:
        return self.of

    def children(self) -> tuple[Node, ...]:
        """Sizes in a tensor's shape are no children: a type may mention any enclosing symbol."""
        return ()

    def map_children(self, change: Any) -> Var:
        """Itself."""
        return self


@node
class Const(Expr):
    """A number of a given type."""

    value: int | float | bool
    of: DType

    def infer(self) -> Type:
        return self.of


@node
class Builtin(Expr):
    """A value the hardware gives each thread: `threadIdx.x`, `blockIdx.y`, `gridDim.x`, ..."""

    name: str
    of: DType = i32

    def infer(self) -> Type:
        return self.of


# ---- arithmetic ----------------------------------------------------------------------------------


@node
class Unary(Expr):
    """One operand, same type."""

    a: Expr
    symbol: ClassVar[str] = "?"

    def infer(self) -> Type:
        return self.a.type


@node
class Binary(Expr):
    """Two operands of one type, result of that type."""

    a: Expr
    b: Expr
    symbol: ClassVar[str] = "?"

    def infer(self) -> Type:
        return self.a.type


@node
class Comparison(Binary):
    """Two operands of one type, result bool."""

    def infer(self) -> Type:
        found = self.a.type
        return VectorType(boolean, found.lanes) if isinstance(found, VectorType) else boolean


@node
class Add(Binary):
    """a + b."""

    symbol: ClassVar[str] = "+"


@node
class Sub(Binary):
    """a - b."""

    symbol: ClassVar[str] = "-"


@node
class Mul(Binary):
    """a * b."""

    symbol: ClassVar[str] = "*"


@node
class Div(Binary):
    """a / b of floats; integers are converted to float32 first."""

    symbol: ClassVar[str] = "/"


@node
class FloorDiv(Binary):
    """The quotient rounded down, as Python's `//`."""

    symbol: ClassVar[str] = "//"


@node
class FloorMod(Binary):
    """a - (a // b) * b: the sign of b, as Python's `%`."""

    symbol: ClassVar[str] = "%"


@node
class TruncDiv(Binary):
    """The quotient rounded toward zero, as C's `/` on integers."""

    symbol: ClassVar[str] = "/trunc"


@node
class TruncMod(Binary):
    """The remainder with the sign of a, as C's `%` and `fmod`."""

    symbol: ClassVar[str] = "%trunc"


@node
class Minimum(Binary):
    """The smaller one; NaN if either is."""

    symbol: ClassVar[str] = "min"


@node
class Maximum(Binary):
    """The larger one; NaN if either is."""

    symbol: ClassVar[str] = "max"


@node
class BitAnd(Binary):
    """Bitwise and of integers."""

    symbol: ClassVar[str] = "&"


@node
class BitOr(Binary):
    """Bitwise or of integers."""

    symbol: ClassVar[str] = "|"


@node
class BitXor(Binary):
    """Bitwise exclusive or of integers."""

    symbol: ClassVar[str] = "^"


@node
class ShiftLeft(Binary):
    """a << b; undefined where b is negative or not below the width."""

    symbol: ClassVar[str] = "<<"


@node
class ShiftRight(Binary):
    """a >> b, arithmetic for signed types."""

    symbol: ClassVar[str] = ">>"


@node
class Less(Comparison):
    """a < b."""

    symbol: ClassVar[str] = "<"


@node
class LessEqual(Comparison):
    """a <= b."""

    symbol: ClassVar[str] = "<="


@node
class Equal(Comparison):
    """a == b."""

    symbol: ClassVar[str] = "=="


@node
class NotEqual(Comparison):
    """a != b."""

    symbol: ClassVar[str] = "!="


@node
class And(Binary):
    """Both; b is not evaluated where a is false."""

    symbol: ClassVar[str] = "and"


@node
class Or(Binary):
    """Either; b is not evaluated where a is true."""

    symbol: ClassVar[str] = "or"


@node
class Negate(Unary):
    """-a."""

    symbol: ClassVar[str] = "-"


@node
class Not(Unary):
    """Logical not."""

    symbol: ClassVar[str] = "not "


@node
class BitNot(Unary):
    """Bitwise not of an integer."""

    symbol: ClassVar[str] = "~"


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
class Reinterpret(Expr):
    """The bits of `value` read as `to`, of the same width; also a pointer as another pointer."""

    value: Expr
    to: DType | VectorType | PointerType

    def infer(self) -> Type:
        return self.to


@node
class Select(Expr):
    """`then` where `condition`, else `otherwise`; only the chosen one is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    def infer(self) -> Type:
        return self.then.type


@node
class Math(Expr):
    """A pure function of `hidet.ir.functions`, by name; all operands have one type."""

    name: str
    args: tuple[Expr, ...]
    of: DType

    def infer(self) -> Type:
        first = self.args[0].type
        return VectorType(self.of, first.lanes) if isinstance(first, VectorType) else self.of


# ---- memory --------------------------------------------------------------------------------------


@node
class Load(Expr):
    """The element of `tensor` at `index`, or the `lanes` elements from it on along the last axis.

    `tensor` is a variable of tensor type (one index for each axis) or a pointer (one index).
    """

    tensor: Expr
    index: tuple[Expr, ...]
    lanes: int = 1

    def infer(self) -> Type:
        element = self.tensor.dtype
        return element if self.lanes == 1 else VectorType(element, self.lanes)


@node
class Get(Expr):
    """A schedule's hook on an operand: the element at `index`, zero outside of the shape.

    Fusion replaces it by the producer's expression; guard_bounds turns what is left into loads.
    """

    tensor: Var
    index: tuple[Expr, ...]

    def infer(self) -> Type:
        return self.tensor.dtype


@node
class Address(Expr):
    """A pointer to the element of `tensor` at `index`."""

    tensor: Expr
    index: tuple[Expr, ...]

    def infer(self) -> Type:
        return PointerType(self.tensor.dtype)


@node
class Pack(Expr):
    """A vector of the given lanes."""

    lanes: tuple[Expr, ...]

    def infer(self) -> Type:
        return VectorType(self.lanes[0].dtype, len(self.lanes))


@node
class Splat(Expr):
    """A vector with `value` in each of `lanes` lanes."""

    value: Expr
    lanes: int

    def infer(self) -> Type:
        return VectorType(self.value.dtype, self.lanes)


@node
class Lane(Expr):
    """Lane number `lane` of a vector."""

    vector: Expr
    lane: int

    def infer(self) -> Type:
        return self.vector.dtype


# ---- building ------------------------------------------------------------------------------------


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
    if kind is Div and not left.dtype.is_float:
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


def bitwise_or_logical(bits: type[Binary], logic: type[Binary], a: Value, b: Value) -> Expr:
    """`logic` on truth values, `bits` on integers; a Python bool is a mistake in a definition."""
    if isinstance(a, bool) or isinstance(b, bool):
        raise TypeError(
            "a Python bool beside an expression: `==` is identity here, use .eq() to compare"
        )
    if not isinstance(a, Expr | int) or not isinstance(b, Expr | int):
        return cast(Expr, NotImplemented)
    left, right = unify(a, b)
    if left.dtype.is_float:
        raise DtypeMismatch(f"{bits.symbol} takes integers or bools, not {left.dtype}")
    return (logic if left.dtype.is_bool else bits)(left, right)


def convert(e: Expr, to: DType) -> Expr:
    """`e` as element type `to`; constants at once, the same type unchanged."""
    if e.dtype is to:
        return e
    if isinstance(e, Const):
        return constant(e.value, to)
    return Cast(e, to)


def select(condition: Value, then: Value, otherwise: Value) -> Expr:
    """`then` where `condition` holds, else `otherwise`; the one not chosen is not evaluated."""
    if isinstance(condition, bool) or not isinstance(condition, Expr):
        raise TypeError(
            "select() takes an expression as condition: `==` is identity here, use .eq() to compare"
        )
    left, right = unify(then, otherwise)
    return Select(condition, left, right)
