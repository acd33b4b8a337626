"""How far right results may be off: near a step, such as a tie, and by the types on their way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from hidet.build.differences import COARSE, expected_error, harmonic_error
from hidet.graph.evaluate import refer
from hidet.graph.operator import Op
from hidet.graph.tensor import Node
from hidet.types import DType

STEP = 1.0
"""The harmonic error of an integer that is one off."""


def error_near_steps(op: Op, given: Sequence[Any], index: int, found: Any, wanted: Any) -> float:
    """How far integers or truths are from all that an operator means for operands a little off.

    A little is a tenth of their type's expected error: about the distance between its numbers. So
    an operator that rounds, or compares, may take the other side of a step as near as that.
    """
    exact = refer(op, list(given))[index].astype(np.float64)
    least = most = np.zeros_like(exact)
    for moved in slightly_off(op, given):
        step = refer(op, moved)[index] - exact
        least, most = np.minimum(least, step), np.maximum(most, step)
    wide = np.asarray(wanted).astype(np.float64)
    return harmonic_error(found, np.clip(np.asarray(found), wide + least, wide + most))


def slightly_off(op: Op, given: Sequence[Any]) -> Iterator[list[Any]]:
    """The operands, with one of real numbers a bit larger or smaller."""
    for place, (value, type_) in enumerate(zip(given, op.types(), strict=True)):
        if type_.dtype.is_float:
            little = expected_error(type_.dtype) / 10
            wide = np.asarray(value).astype(np.float64)
            for factor in (1 - little, 1 + little):
                yield [*given[:place], wide * factor, *given[place + 1 :]]


def error_of_results(of: DType, nodes: Iterable[Node]) -> float:
    """The error to be expected of a result of a type that such nodes lead to.

    It is that of the coarsest type among their results: a float32 result of float16 matmuls is as
    exact as these. Numbers quantized to eight bits or fewer may be one step off.
    """
    limit = expected_error(of, "matmul")
    for node in nodes:
        types = [each.dtype for each in node.outputs]
        if any(map(is_quantized, types)) and any(each.dtype.is_float for each in node.inputs):
            limit = max(limit, STEP if is_quantized(of) else COARSE if of.is_float else 0.0)
        if of.is_float:
            limit = max([limit, *(expected_error(e, "matmul") for e in types if e.is_float)])
    return limit


def is_quantized(of: DType) -> bool:
    """Whether a type stands for real numbers by few integers."""
    return of.is_integer and of.nbytes <= 1
