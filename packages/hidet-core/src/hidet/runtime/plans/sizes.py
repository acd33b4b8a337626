"""Sizes of launch plans: numbers, symbols, and arithmetic on them, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq, le
from typing import Any, TypeAlias

import numpy as np

from hidet.errors import BadArchive

Size: TypeAlias = "int | str | list[Any]"
"""A number, the name of a symbol, `[operator, left, right]`, or `["scale", size, factor]`, where
the factor is a float32 as text in hexadecimal: the product in float32, without its fraction."""

SCALE = "scale"
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}


RELATIONS: dict[str, Callable[[int, int], bool]] = {"<=": le, "==": eq}


@dataclass(frozen=True)
class Relation:
    """What has to hold of sizes: `left` <= `right`, or ==, as `sign` says."""

    left: Size
    sign: str
    right: Size


def evaluate(size: Size, symbols: Mapping[str, int]) -> int:
    """The number that a size is, given its symbols."""
    if isinstance(size, int):
        return size
    if isinstance(size, str):
        return symbols[size]
    operator, left, right = size
    if operator == SCALE:
        return int(np.float32(evaluate(left, symbols)) * np.float32(float.fromhex(right)))
    return OPERATORS[operator](evaluate(left, symbols), evaluate(right, symbols))


def checked_size(data: Any, symbols: Mapping[str, Any], where: str, depth: int = 0) -> Size:
    """`data` if it is a size over these symbols; BadArchive says where it is not."""
    if isinstance(data, int) and not isinstance(data, bool) and abs(data) < 2**63:
        return data
    if isinstance(data, str) and data in symbols:
        return data
    if isinstance(data, list) and len(data) == 3 and data[0] in OPERATORS and depth < 64:
        left, right = (checked_size(each, symbols, where, depth + 1) for each in data[1:])
        return [data[0], left, right]
    if isinstance(data, list) and len(data) == 3 and data[0] == SCALE and depth < 64:
        return [
            SCALE,
            checked_size(data[1], symbols, where, depth + 1),
            checked_factor(data[2], where),
        ]
    raise BadArchive(f"{where} is no size: {str(data)[:80]}")


def checked_factor(data: Any, where: str) -> str:
    """`data` if it is a factor of a scaled size; BadArchive says where it is not."""
    try:
        if 0 <= float.fromhex(data) < 2.0**31:
            return str(data)
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadArchive(f"{where} is scaled by {str(data)[:80]}")
