"""Functions of numbers in a script; they take Python numbers and expressions alike."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Expr, Maximum, Minimum, Value, combine, convert, is_vector, select
from hidet.ir.functions import call
from hidet.ir.stmt import Print
from hidet.lang.loops import known, span
from hidet.lang.recorder import current
from hidet.lang.values import alike, number, plain, spoken, truth
from hidet.types import DType
from hidet.types.dtypes import Kind


def cast(value: Value, to: DType) -> Expr:
    """`value` as `to`: floats to integers toward zero, anything to a truth value by `!= 0`."""
    if not isinstance(to, DType):
        raise BadScript(f"a value is cast to an element type, not to {spoken(to)}")
    return convert(number(value, "the value"), to)


def minimum(*values: Any) -> Any:
    """The smallest value; NaN if any is. Also of one list, as Python's `min`."""
    return least(Minimum, builtins.min, values)


def maximum(*values: Any) -> Any:
    """The largest value; NaN if any is. Also of one list, as Python's `max`."""
    return least(Maximum, builtins.max, values)


def least(kind: type[Minimum] | type[Maximum], python: Any, values: tuple[Any, ...]) -> Any:
    """Values folded by `kind`, or by Python where all are known."""
    items = list(known(values[0])) if len(values) == 1 else list(values)
    if not any(isinstance(item, Expr) for item in items):
        return python(items)
    found = plain(items[0])
    for item in map(plain, items[1:]):
        both = isinstance(found, Expr) or isinstance(item, Expr)
        found = combine(kind, *alike(found, item)) if both else python(found, item)
    return found


def absolute(value: Any) -> Any:
    """The value without its sign."""
    return call("abs", value) if isinstance(value, Expr) else builtins.abs(value)


def total(items: Any, start: Any = 0) -> Any:
    """The sum of a list of values."""
    found = start
    for item in known(items):
        started = isinstance(found, Expr) or found != 0
        found = found + item if started else item
    return found


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`: by products for a small whole number, else by `pow` of floats."""
    base, exponent = plain(base), plain(exponent)
    if not isinstance(base, Expr) and not isinstance(exponent, Expr):
        return base**exponent
    if isinstance(exponent, int) and 1 <= exponent <= 8:
        found = base
        for _ in range(exponent - 1):
            found = found * base
        return found
    return call("pow", base, exponent)


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then` where `condition` holds, else `otherwise`: the ternary expression as a function."""
    if isinstance(condition, Expr):
        return select(truth(condition), *alike(plain(then), plain(otherwise)))
    return then if condition else otherwise


def cdiv(a: Any, b: Any) -> Any:
    """`a / b` rounded up, of integers."""
    return (a + (b - 1)) // b


def printf(format: str, *values: Value) -> None:
    """Print values by a C format when the kernel runs."""
    if not isinstance(format, str):
        raise BadScript(f"printf() takes a format first, not {spoken(format)}")
    recorder = current("printf()")
    args = tuple(number(value, "a printed value") for value in values)
    recorder.emit(Print(format, args, recorder.place))


def in_its_place(name: str, instead: str) -> Callable[..., Any]:
    """A builtin that works only on values known while transcribing."""
    python = getattr(builtins, name)

    def known_only(value: Any) -> Any:
        if isinstance(value, Expr):
            raise BadScript(
                f"{name}() is of values known beforehand, not of {spoken(value)}",
                help=f"use {instead}(...)",
            )
        return python(value)

    return known_only


def printed(*values: Any, sep: str = " ", end: str = "\n") -> None:
    """Python's `print`: a line for each thread, with values known only when the kernel runs."""
    parts: list[str] = []
    args: list[Expr] = []
    for value in map(plain, values):
        if isinstance(value, Expr):
            args.append(number(value, "a printed value"))
            parts.append(conversion(args[-1]))
        else:
            parts.append(str(value).replace("%", "%%"))
    recorder = current("print()")
    text = (sep.replace("%", "%%")).join(parts) + end.replace("%", "%%")
    recorder.emit(Print(text, tuple(args), recorder.place))


def conversion(value: Expr) -> str:
    """How a number is printed."""
    if is_vector(value):
        raise BadScript(f"a printed value is one number, not {spoken(value)}", help="print lanes")
    if value.dtype.is_float:
        return "%.17g" if value.dtype.bits == 64 else "%.9g"
    signed = value.dtype.kind is not Kind.UNSIGNED
    return ("%ll" if value.dtype.bits == 64 else "%") + ("d" if signed else "u")


def stopped(*values: Any, **named: Any) -> None:
    """Python's `breakpoint()` takes arguments for its hook, which a kernel cannot give."""
    raise BadScript("breakpoint() takes no arguments in a script")


REPLACED: dict[Any, Callable[..., Any]] = {
    builtins.range: span,
    builtins.min: minimum,
    builtins.max: maximum,
    builtins.abs: absolute,
    builtins.sum: total,
    builtins.pow: power,
    builtins.int: in_its_place("int", "i32"),
    builtins.float: in_its_place("float", "f32"),
    builtins.bool: in_its_place("bool", "bool_"),
    builtins.print: printed,
    builtins.breakpoint: stopped,
}
"""Python's functions and what a script calls in their place."""
