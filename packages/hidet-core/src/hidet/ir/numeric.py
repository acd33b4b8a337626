"""What each arithmetic node means in numpy, at its operands' own type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidet.ir.expr import (
    Add,
    And,
    Binary,
    BitAnd,
    BitNot,
    BitOr,
    BitXor,
    Div,
    Equal,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Not,
    NotEqual,
    Or,
    ShiftLeft,
    ShiftRight,
    Sub,
    TruncDiv,
    TruncMod,
    Unary,
)


def truncated_quotient(a: Any, b: Any) -> Any:
    """a / b rounded toward zero, as C does on integers."""
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        down = np.floor_divide(a, b)
        return down + ((down * b != a) & ((a < 0) != (b < 0))).astype(down.dtype)
    return np.trunc(np.divide(a, b))


BINARY: dict[type[Binary], Callable[[Any, Any], Any]] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Div: np.divide,
    FloorDiv: np.floor_divide,
    FloorMod: np.remainder,
    TruncDiv: truncated_quotient,
    TruncMod: np.fmod,
    Minimum: np.minimum,
    Maximum: np.maximum,
    BitAnd: np.bitwise_and,
    BitOr: np.bitwise_or,
    BitXor: np.bitwise_xor,
    ShiftLeft: np.left_shift,
    ShiftRight: np.right_shift,
    Less: np.less,
    LessEqual: np.less_equal,
    Equal: np.equal,
    NotEqual: np.not_equal,
    And: np.logical_and,
    Or: np.logical_or,
}

UNARY: dict[type[Unary], Callable[[Any], Any]] = {
    Negate: np.negative,
    Not: np.logical_not,
    BitNot: np.invert,
}
