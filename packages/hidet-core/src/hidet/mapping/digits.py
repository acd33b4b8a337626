"""Positional arithmetic shared by mappings and layouts: a number's digits, and digits put together.

Everything here works on integers and on any expression with `+ * // %`; constants that cannot
change the result (`* 1`, `+ 0`, `// 1`) are never written, so generated code stays readable.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

Scalar: TypeAlias = Any
"""An integer, or an expression that supports `+ * // % <`."""


def digits(number: Scalar, extents: Sequence[int], order: Sequence[int]) -> tuple[Scalar, ...]:
    """The digits of `number` in the mixed radix `extents`; `order` lists the slowest digit first.

    `number` is below the product of `extents`, so the slowest digit needs no remainder.
    """
    found: list[Scalar] = [0] * len(extents)
    wide = [place for place in order if extents[place] != 1]
    for place in reversed(wide[1:]):
        found[place] = number % extents[place]
        number = number // extents[place]
    if wide:
        found[wide[0]] = number
    return tuple(found)


def scaled(number: Scalar, factor: Scalar) -> Scalar:
    """`number * factor`, written only where it is not plainly zero or `number`."""
    if is_integer(factor, 1):
        return number
    if is_integer(number, 0) or is_integer(factor, 0):
        return 0
    return number * factor


def added(left: Scalar, right: Scalar) -> Scalar:
    """`left + right`, written only where neither is plainly zero."""
    if is_integer(left, 0):
        return right
    if is_integer(right, 0):
        return left
    return left + right


def both(left: Scalar | None, right: Scalar | None) -> Scalar | None:
    """Both conditions at once; `None` is the condition that always holds."""
    if left is None:
        return right
    if right is None:
        return left
    return left & right


def is_integer(number: Scalar, value: int) -> bool:
    """Whether `number` is the plain integer `value` (never asks an expression for its truth)."""
    return isinstance(number, int) and number == value
