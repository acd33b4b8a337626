"""Sizes of results that TensorFlow leaves open, as sizes that the graph knows.

TensorFlow's rules for shapes take numbers, or nothing at all: they do not say that a result has as
many rows as the operand. They are asked twice, with primes for the dynamic sizes; a size that
comes as near the same prime both times is that one, or so much more or less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from hidet.compute.sizes import tidy
from hidet.errors import HidetError
from hidet.graph import Tensor
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Expr, Var
from hidet.ir.walk import variables
from hidet.types import Size
from hidet_tf.importing.region import function_of

PRIMES = (
    (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069),
    (2003, 2111, 2239, 2377, 2521, 2671, 2819, 2963, 3109, 3259, 3413, 3571),
)
"""Two lists in which no two primes are equally far apart."""
NEAR = 32
"""How much larger or smaller than a size a result may be."""


def probed_shapes(
    graph: Any, operands: Sequence[Any], results: Sequence[tf.Tensor]
) -> list[tuple[Size | None, ...] | None]:
    """The shapes of a region's results, None for a size that nobody tells, or for no rank.

    `operands` are what the region's arguments stand for.
    """
    open_sizes = [*dict.fromkeys(v for each in operands for v in sizes_of(each))]
    static = [None if t.shape.rank is None else tuple(t.shape.as_list()) for t in results]
    is_known = all(shape is not None and None not in shape for shape in static)
    if is_known or not open_sizes or len(open_sizes) > len(PRIMES[0]):
        return [*static]
    asked = [asked_with(graph, operands, dict(zip(open_sizes, p, strict=False))) for p in PRIMES]
    if None in asked:
        return [*static]
    found: list[tuple[Size | None, ...] | None] = []
    for number, shape in enumerate(static):
        one, other = (each[number] for each in asked if each is not None)
        found.append(
            shape
            if shape is None or one is None or other is None
            else tuple(
                own if own is not None else same(a, b, open_sizes)
                for own, a, b in zip(shape, one, other, strict=True)
            )
        )
    return found


def sizes_of(value: Any) -> list[Var]:
    """The symbols in the sizes of a value."""
    sizes = value.shape if isinstance(value, Tensor) else ()
    return [v for size in sizes if isinstance(size, Expr) for v in variables(size)]


def asked_with(
    graph: Any, operands: Sequence[Any], numbers: Mapping[Expr, int]
) -> list[tuple[int | None, ...] | None] | None:
    """What TensorFlow says of results where sizes are these numbers; None if it refuses."""
    specs = [spec_with(each, numbers) for each in operands]
    try:
        found = function_of(graph, specs).outputs
    except (ValueError, HidetError):  # of these very sizes; a call has others
        return None
    return [None if t.shape.rank is None else tuple(t.shape.as_list()) for t in found]


def spec_with(value: Any, numbers: Mapping[Expr, int]) -> tf.TensorSpec:
    """The spec of an argument where sizes are these numbers."""
    if not isinstance(value, Tensor):
        return tf.TensorSpec(value.type.shape, value.type.dtype)
    shape = [evaluate(s, numbers) if isinstance(s, Expr) else s for s in value.shape]
    return tf.TensorSpec(shape, tf.as_dtype(value.dtype.numpy))


def same(one: int | None, other: int | None, open_sizes: Sequence[Var]) -> Size | None:
    """The size that is these two numbers for the two lists of primes: one of those that vary, or
    so much more or less."""
    if one is None or other is None:
        return None
    for size, first, second in zip(open_sizes, *PRIMES, strict=False):
        if one - first == other - second and abs(one - first) <= NEAR:
            return tidy(size + (one - first))
    return None
