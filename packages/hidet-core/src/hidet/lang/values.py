"""Values in a script: Python ones, known beforehand, and expressions, known when it runs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from hidet.errors import BadScript, DtypeMismatch
from hidet.ir.expr import Const, Expr, Splat, Var, constant, convert, is_vector, wrap
from hidet.types import (
    DType,
    PointerType,
    TensorMapType,
    TensorType,
    Type,
    VectorType,
    boolean,
    i32,
)


def is_number(value: Any) -> bool:
    """Whether it is a Python or numpy number, or a truth value."""
    return isinstance(value, Real)


def plain(value: Any) -> Any:
    """A number as int, float or bool; anything else as it is."""
    if isinstance(value, bool | int | float) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def is_tensor(value: Any) -> bool:
    """Whether it is a variable of tensor type."""
    return isinstance(value, Var) and isinstance(value.type, TensorType)


def is_pointer(value: Any) -> bool:
    """Whether it is an expression of pointer type."""
    return isinstance(value, Expr) and isinstance(value.type, PointerType)


def is_scalar(value: Any) -> bool:
    """Whether it is an expression of a number."""
    return isinstance(value, Expr) and isinstance(value.type, DType)


def differ(left: Type, right: Type) -> bool:
    """Whether tensors of these types certainly have different shapes."""
    assert isinstance(left, TensorType)
    assert isinstance(right, TensorType)
    pairs = zip(left.shape, right.shape, strict=False)
    known = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
    return known or left.ndim != right.ndim


def spoken(value: Any) -> str:
    """What a value is, for messages."""
    if isinstance(value, Expr):
        return f"`{value}` ({value.type})"
    return f"{value!r}" if is_number(value) or isinstance(value, str) else f"a {kind_of(value)}"


def kind_of(value: Any) -> str:
    """The name of a value's Python type."""
    return type(value).__name__


def expression(value: Any, like: DType | None = None) -> Expr:
    """A number or expression as an expression."""
    value = plain(value)
    if isinstance(value, Expr):
        return value
    if not isinstance(value, bool | int | float):
        raise BadScript(f"expected a number, found {spoken(value)}")
    found = wrap(value, like)
    return constant(value, found.dtype)  # a whole number beside a float is a float


def number(value: Any, what: str) -> Expr:
    """`value` as a scalar or vector expression; `what` names it if it is not one."""
    found = expression(value)
    if isinstance(found.type, TensorType | PointerType):
        raise BadScript(f"{what} is {spoken(found)}, not a number", help="index it first")
    return found


def index(value: Any) -> Expr:
    """`value` as an index: an integer."""
    found = expression(value, i32)
    if not is_scalar(found) or not found.dtype.is_integer:
        raise DtypeMismatch(f"an index is an integer, not {spoken(found)}")
    return found


def truth(value: Any, what: str = "a condition") -> Expr:
    """A run-time value as a condition: numbers are true where they are not zero."""
    found = number(value, what)
    if is_vector(found):
        raise BadScript(f"{what} is one value, not {spoken(found)}")
    return found if found.dtype is boolean else found.ne(0)


def converted(value: Any, to: Type, what: str) -> Expr:
    """`value` as the type of `what`, where nothing but precision can be lost.

    A float is never made an integer, nor a number a truth value, without being told to.
    """
    if isinstance(to, PointerType):
        found = expression(value)
        if found.type != to:
            raise DtypeMismatch(f"{what} is {to}, the value is {spoken(found)}")
        return found
    if isinstance(to, TensorType):
        raise BadScript(f"{what} is a tensor and cannot be assigned", help="assign its elements")
    if isinstance(to, TensorMapType):
        raise BadScript(f"{what} is a tensor map and cannot be assigned")
    element = to.element if isinstance(to, VectorType) else to
    found = number(wrapped(value, element), "the value")
    source = found.dtype
    if (source.is_float and not element.is_float) or (element.is_bool and not source.is_bool):
        raise DtypeMismatch(
            f"{what} is {to}, the value {spoken(found)} is not",
            help=f"convert it by `{'bool_' if element.is_bool else element}(...)`",
        )
    if isinstance(to, VectorType):
        return as_vector(convert(found, element), to, what)
    if is_vector(found):
        raise DtypeMismatch(f"{what} is one {to}, the value is {spoken(found)}")
    return convert(found, element)


def wrapped(value: Any, like: DType) -> Expr:
    """A number as a constant of type `like` if it can be one; an expression as it is."""
    value = plain(value)
    fits = isinstance(value, int) and not isinstance(value, bool)
    if fits and (like.is_integer or like.is_float):
        low, high = like.limits
        if not low <= value <= high:
            raise DtypeMismatch(f"{value} does not fit {like}", help=f"it holds {low} to {high}")
    return expression(value, like)


def as_vector(value: Expr, to: VectorType, what: str) -> Expr:
    """A value spread over the lanes of `to`, or a vector of that type."""
    if not is_vector(value):
        return Splat(value, to.lanes)
    if value.type != to:
        raise DtypeMismatch(f"{what} is {to}, the value is {spoken(value)}")
    return value


def constant_truth(value: Any) -> bool | None:
    """The truth of a value known while transcribing; None if it is known only at run time."""
    if isinstance(value, Const):
        return bool(value.value)
    return None if isinstance(value, Expr) else bool(value)


def alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Two operands, a number beside an expression made a constant of the expression's type."""
    if isinstance(left, Expr) and isinstance(right, int | float):
        return left, expression(right, left.dtype)
    if isinstance(right, Expr) and isinstance(left, int | float):
        return expression(left, right.dtype), right
    return left, right
