"""How a value walks through memory: which loop variable moves along consecutive elements.

Found by probing: the flat offset of a read is evaluated at a point and one step further. It only
guides the choice of a kernel's shape, never its correctness.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from hidet.errors import HidetError
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Const, Expr, Get, Var
from hidet.ir.walk import find, variables
from hidet.schedules.automatic.plan import shape_of
from hidet.types import Size

ASSUMED = 61
"""What a size known only at run time is taken to be."""


def stride(read: Get, var: Var) -> int | None:
    """How far the offset of `read` moves when `var` grows by one; None if it is not constant."""
    steps = set()
    generator = random.Random(0)
    symbols = [
        v for size in shape_of(read.tensor) if isinstance(size, Expr) for v in variables(size)
    ]
    names = [v for v in variables(read.index) if v is not read.tensor]
    for _ in range(4):
        point: dict[Expr, int | float | bool] = {name: generator.randrange(1, 40) for name in names}
        point |= dict.fromkeys(symbols, ASSUMED)
        try:
            steps.add(offset(read, point | {var: point.get(var, 1) + 1}) - offset(read, point))
        except (HidetError, KeyError):
            return None
    return steps.pop() if len(steps) == 1 else None


def offset(read: Get, point: dict[Expr, int | float | bool]) -> int:
    """The flat row-major offset of `read` at a point."""
    total = 0
    for index, size in zip(read.index, shape_of(read.tensor), strict=True):
        extent = size if isinstance(size, int) else int(evaluate(size, point))
        total = total * extent + int(evaluate(index, point))
    return total


def reads(value: Expr) -> Iterator[Get]:
    """The reads of memory in a value."""
    return find(value, Get)


def read_once(value: Expr, loop_vars: Iterable[Var]) -> tuple[Var, ...]:
    """The tensors of which a value at all places of some variables takes each element once, as far
    as can be told: by one read, whose index all of them are in."""
    found, needed = dict.fromkeys(reads(value)), set(loop_vars)
    count = Counter(read.tensor for read in found)
    return tuple(
        read.tensor
        for read in found
        if count[read.tensor] == 1 and needed <= set(variables(read.index))
    )


def contiguous(value: Expr, var: Var) -> bool:
    """Whether some read walks along consecutive elements with `var`, and none jumps."""
    steps = [stride(read, var) for read in reads(value) if shape_of(read.tensor)]
    return 1 in steps and all(step in (0, 1) for step in steps)


def mostly_contiguous(value: Expr, var: Var, most: int = 1) -> bool:
    """Whether at least one read walks along with `var` by steps of at most `most` elements."""
    steps = (stride(read, var) for read in reads(value) if shape_of(read.tensor))
    return any(step is not None and 1 <= step <= most for step in steps)


def constant_size(size: Size) -> int | None:
    """The size as a number, if it is one."""
    if isinstance(size, Const):
        return int(size.value)
    return size if isinstance(size, int) else None


def whole_lanes(lanes: int, size: Size) -> int:
    """How many neighbours along an axis of `size`, `lanes` at most, can be taken at once, so that
    all of them are there or none: 1 if the size is not known."""
    known = constant_size(size)
    while lanes > 1 and (known is None or known % lanes):
        lanes //= 2
    return lanes


def known_product(sizes: Sequence[Size]) -> int:
    """The product of sizes, those unknown until run time taken as 256."""
    return prod(n if (n := constant_size(size)) is not None else 256 for size in sizes)
