"""Which numbers stand for dynamic sizes when the costs of schedules are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, TypeVar

from hidet.errors import HidetError
from hidet.graph.operator import Op, resized
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Expr, Var
from hidet.ir.walk import variables
from hidet.target import Target
from hidet.types import Size, TensorType

TYPICAL, IMAGES = 128, 1
"""What a dynamic size counts as in a single estimate, and what a number of images does."""
CALLS = (4, 64)
"""What all sizes are in the calls that choices for GPUs are made for. By the cost model for an H200
layers of ResNet-50, BERT and Llama, at 1 to 64 images or 16 to 8,192 rows, take 1.33 times as long
as with the best schedule for each size, 2.6 times at worst; with one call of 128 each 1.73 and 9.4
times."""

NONE: Mapping[Var, int] = MappingProxyType({})

T = TypeVar("T", Op, TensorType)


def typical(of: T, target: Target, calls: Sequence[int] = ()) -> list[T]:
    """An operator or a type with the sizes that it has in these calls, or in `CALLS`; itself where
    all its sizes are known, or for CPUs, whose costs count one call (`estimated`)."""
    if target.kind != "cuda" or not symbols_of(of):
        return [of]
    found = [called(of, size) for size in calls or CALLS]
    return [each for each in found if agrees(each)] or [of]


def called(of: T, size: int, others: Mapping[Var, int] = NONE) -> T:
    """An operator or a type with every symbol bound to a size, but for the `others`; no size comes
    to 0."""

    def change(symbolic: Expr) -> Size:
        numbers: dict[Expr, int] = {e: others.get(e, size) for e in variables(symbolic)}
        return max(1, bound(symbolic, numbers))

    return (
        of.with_sizes(change) if isinstance(of, Op) else of.with_(shape=resized(of.shape, change))
    )


def symbols_of(of: Op | TensorType) -> bool:
    """Whether some size is dynamic."""
    if isinstance(of, TensorType):
        return not all(isinstance(size, int) for size in of.shape)
    return any(True for _ in of.symbolic_sizes())


def agrees(of: Op | TensorType) -> bool:
    """Whether an operator is valid with such sizes: one may be the difference of others."""
    try:
        return isinstance(of, TensorType) or bool(of.results())
    except HidetError:
        return False


def expected(costs: Sequence[float]) -> float:
    """The geometric mean of the costs of typical calls, so that a factor weighs the same at any
    size."""
    return prod(costs) ** (1 / len(costs))


def estimated(size: Size | Any, images: Size = 0) -> int:
    """A size as one number: its value where each symbol in it is `TYPICAL`, and those of a number
    of `images` are `IMAGES`."""
    return size if isinstance(size, int) else estimated_once(size, images)


@lru_cache(maxsize=4096)
def estimated_once(size: Expr, images: Size) -> int:
    """The same of an expression, cached."""
    symbols: dict[Expr, int] = dict.fromkeys(variables(size), TYPICAL)
    if not isinstance(images, int):
        symbols.update(dict.fromkeys(variables(images), IMAGES))
    return max(0, bound(size, symbols))


def fewest(size: Size | Any) -> int:
    """A size as one number: its value where each symbol in it is 1."""
    if isinstance(size, int):
        return size
    return max(0, bound(size, dict.fromkeys(variables(size), 1)))


def bound(size: Expr, symbols: Mapping[Expr, int]) -> int:
    """The value of a size where its symbols are these numbers."""
    return int(evaluate(size, symbols))


def size_bytes(of: TensorType) -> float:
    """The bytes of a tensor, with estimated sizes."""
    return float(prod(map(estimated, of.shape))) * of.dtype.nbytes
