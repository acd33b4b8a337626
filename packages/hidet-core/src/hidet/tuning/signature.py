"""What tells operators apart to the tuner: sizes count by bucket, symbols by order, names not.

Sizes of one bucket have the same alignment and about the same magnitude: what is best for one of
them is taken for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from math import gcd
from typing import Any

from hidet.graph.operator import Op, spelled
from hidet.ir.expr import Expr, Var
from hidet.ir.walk import substitute, variables
from hidet.types import Size, TensorType

EXACT = 32
"""Up to this size each has a bucket of its own: kernels, strides and heads are such sizes."""
ALIGNED = 64
"""Beyond this power of two more of it makes no difference."""


def bucket(size: int) -> str:
    """The bucket of a size: the next power of two, or one and a half of it, and its alignment."""
    if size <= EXACT:
        return str(size)
    power = 1 << (size - 1).bit_length()
    upper = power * 3 // 4 if size <= power * 3 // 4 else power
    return f"{upper}/{gcd(size, ALIGNED)}"


def signature(wiring: Sequence[tuple[Op, tuple[int, ...]]], more: object = None) -> str:
    """Operators and how they are wired, as text."""
    names = symbols(wiring)
    lines = []
    for op, reads in wiring:
        given = [f"{f.name}={field_text(getattr(op, f.name), names)}" for f in fields(op)]
        lines.append(f"{op.name}({', '.join(given)}) {list(reads)}")
    return "\n".join([*lines, str(more)])


def symbols(wiring: Sequence[tuple[Op, tuple[int, ...]]]) -> dict[Var, Expr]:
    """The symbolic sizes under names by order."""
    found = dict.fromkeys(variables([size for op, _ in wiring for size in op.symbolic_sizes()]))
    return {var: Var(f"n{number}", var.of) for number, var in enumerate(found)}


def field_text(value: Any, names: dict[Var, Expr]) -> str:
    """A field with the sizes of tensors by bucket."""
    match value:
        case TensorType():
            sizes = ", ".join(size_text(each, names) for each in value.shape)
            return f"{value.dtype.name}[{sizes}]"
        case tuple():
            return f"({', '.join(field_text(each, names) for each in value)})"
        case Expr():
            return size_text(value, names)
    return spelled(value)


def size_text(size: Size, names: dict[Var, Expr]) -> str:
    """A size as text."""
    return bucket(size) if isinstance(size, int) else str(substitute(size, names))
